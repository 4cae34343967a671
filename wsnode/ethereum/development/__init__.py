"""A development chain as a source of blocks: built from a pool, and changed as tests ask for."""
