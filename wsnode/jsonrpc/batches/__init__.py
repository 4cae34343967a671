"""Batches: many requests in one message, and those of them that wait together."""
