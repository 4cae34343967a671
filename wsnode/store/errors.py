"""Errors of a store, with messages for the operator."""

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
