"""Whose turn it is: slices, threads, waiting awake, and the memory that calls may hold."""
