"""Scheduling of connections: turns, slices, threads, and the memory that calls may hold."""
