"""Everything that a node and its clients can go through, held against a model of the chain."""
