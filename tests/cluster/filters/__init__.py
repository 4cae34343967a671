"""Filters that are polled at any node of a journal."""
