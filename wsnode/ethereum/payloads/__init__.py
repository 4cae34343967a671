"""Payloads: the blocks that a consensus client gives, takes and chooses among."""
