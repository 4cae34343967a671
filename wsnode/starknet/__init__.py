"""All that knows the alt family (Starknet)."""
