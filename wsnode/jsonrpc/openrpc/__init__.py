"""The methods of a registry as an OpenRPC document, and the schemas it is made of."""
