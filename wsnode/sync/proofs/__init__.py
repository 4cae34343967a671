"""State by proofs: values that a call lacks are fetched from other nodes, verified and kept."""
