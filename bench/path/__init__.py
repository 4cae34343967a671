"""The way of one request through a node."""
