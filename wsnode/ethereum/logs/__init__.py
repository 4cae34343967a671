"""Logs: filters, the index to find logs, and the matching of new logs with filters."""
