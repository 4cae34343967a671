"""Upkeep of a server: metrics, logs, memory, background tasks, its end."""
