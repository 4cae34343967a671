"""Conversion between Ethereum's values and bytes: from rows of the engine to JSON and back."""
