"""State known by proofs."""
