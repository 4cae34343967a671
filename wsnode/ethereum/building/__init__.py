"""The next block: its attributes and transactions, the built block, and the state after it."""
