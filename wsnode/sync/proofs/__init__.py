"""State that is known by proofs: what a call lacks of it is fetched from other nodes, verified and kept."""
