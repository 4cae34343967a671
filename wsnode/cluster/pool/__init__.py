"""Pending transactions on all nodes of a journal: its writer publishes its pool, and the others copy it."""
