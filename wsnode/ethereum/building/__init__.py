"""The block to come: what it is built of, the block itself, and the state after it."""
