"""Bytes of connections: listening sockets, readiness, and reading and writing."""
