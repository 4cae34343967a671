"""Assembly of a node: its configuration, its networks, and their run in one process or several."""
