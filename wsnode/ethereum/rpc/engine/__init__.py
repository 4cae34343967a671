"""The Engine API: the methods by which a consensus client drives the chain, on a port of their own."""
