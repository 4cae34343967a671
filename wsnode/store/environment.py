"""One LMDB file: snapshots to read from, and changes as single function calls, from the engine."""

from wsnode._native.store import Environment, Reader, Writer, inspect_pages, release_free_pages

__all__ = ["Environment", "Reader", "Writer", "inspect_pages", "release_free_pages"]
