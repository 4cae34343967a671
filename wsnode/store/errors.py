"""Errors of a store, with messages that an operator can act on."""

from wsnode._native.store import DiskFullError, SnapshotLostError, StoreError, TooManySnapshotsError

__all__ = ["DiskFullError", "SnapshotLostError", "StoreError", "TooManySnapshotsError"]
