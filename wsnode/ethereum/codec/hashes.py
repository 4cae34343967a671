"""Hashes as clients write them, many at a time."""

from wsnode._native.wire import are_hashes

__all__ = ["are_hashes"]
