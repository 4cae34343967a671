"""Building of the next block: its attributes and transactions, the block, and the state after it."""
