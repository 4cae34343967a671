"""Everything about Ethereum; the rest of the package knows no chain."""
