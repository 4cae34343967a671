"""Other nodes that this one asks; it knows JSON-RPC and no chain."""
