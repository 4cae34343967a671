"""Storage proofs: made of stored states."""
