"""Transport of bytes: listening sockets, readiness, reading and writing."""
