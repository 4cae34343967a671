"""Logs: which of them are wanted, the index that finds them, matching new ones."""
