"""Storms of connections: the pace at which a node accepts them, and whether it keeps them."""
