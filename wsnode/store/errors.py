"""Errors of a store, with messages that an operator can act on."""

from wsnode._native.store import (
    DamagedRowError,
    DiskFullError,
    SnapshotLostError,
    StoreError,
    StoreFailedError,
    StoreMovedError,
    TooManySnapshotsError,
)

__all__ = [
    "DamagedRowError",
    "DiskFullError",
    "SnapshotLostError",
    "StoreError",
    "StoreFailedError",
    "StoreMovedError",
    "TooManySnapshotsError",
]
