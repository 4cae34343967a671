"""Comments in the source, read as prose."""
