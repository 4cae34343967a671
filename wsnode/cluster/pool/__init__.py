"""Pending transactions on all nodes of a journal: its writer says what it has, and the others take that."""
