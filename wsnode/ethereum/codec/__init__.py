"""Between Ethereum's values and bytes: rows of the engine to JSON and back."""
