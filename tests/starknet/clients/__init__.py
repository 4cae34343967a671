"""Clients of others, each run as a program of its own."""
