"""ots_…: what the explorer Otterscan asks of its node, in erigon's forms."""
