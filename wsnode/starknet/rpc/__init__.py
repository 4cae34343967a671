"""The Starknet family's methods, each under its `alt_` and its `starknet_` name."""
