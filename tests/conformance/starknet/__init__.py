"""Real blocks of Starknet against their own hashes."""
