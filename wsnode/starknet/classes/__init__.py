"""Contract classes of both kinds: read, rendered as nodes answer them, hashed."""
