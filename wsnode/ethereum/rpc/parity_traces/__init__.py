"""trace_…: what transactions, blocks and calls do, in the forms of Parity, erigon, reth and anvil."""
