"""Public chains by name: a table with the rules of each chain, and what the node can serve of it."""
