"""Client through starknet-rs."""
