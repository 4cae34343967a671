"""All that knows Ethereum; the rest of the tree knows no chain."""
