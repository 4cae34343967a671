"""Development chain: blocks are built from a pool, changed and removed as tests request."""
