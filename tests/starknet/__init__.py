"""The Starknet family, judged by real blocks and classes."""
