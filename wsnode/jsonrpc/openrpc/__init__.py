"""The methods of a registry as an OpenRPC document."""
