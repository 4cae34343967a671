"""State of a chain that follows other nodes, besides its stored blocks."""
