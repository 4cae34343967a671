"""A development chain with known accounts, a token and some traffic, built by our own block builder."""
