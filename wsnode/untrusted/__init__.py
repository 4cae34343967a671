"""Bytes of others: decoded within bounds, with one error for all that can be wrong with them."""
