"""The lag of notifications: blocks that a node is made to produce, and when each subscriber hears of them."""
