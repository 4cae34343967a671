"""Searches for the events of stored blocks, page by page."""
