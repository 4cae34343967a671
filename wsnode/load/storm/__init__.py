"""Storms of connections: how fast a node takes them, and whether it keeps them."""
