"""Methods about blocks, headers and uncles."""
