"""Rates of keys that machines count together."""
