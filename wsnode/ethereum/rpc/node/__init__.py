"""Methods about the node itself: its version, its network, the rules in force."""
