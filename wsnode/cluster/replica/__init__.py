"""Replica of a chain by a journal: each record is executed here, and its outcome compared."""
