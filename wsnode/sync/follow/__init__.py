"""A chain that follows other nodes: what they announce is fetched, executed, and made the head."""
