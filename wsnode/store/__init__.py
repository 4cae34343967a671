"""LMDB without meaning: an environment and its tables of bytes."""
