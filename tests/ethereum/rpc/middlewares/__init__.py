"""Calls that wait, that fetch state, and that another node answers."""
