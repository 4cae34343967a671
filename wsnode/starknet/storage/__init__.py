"""The Starknet chain's tables, what their rows hold, and how a block is written and taken back."""
