"""What a chain that follows other nodes knows besides its stored blocks."""
