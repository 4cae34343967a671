"""The memory of a process that runs a node."""
