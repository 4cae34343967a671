"""One LMDB file: snapshots to read from, and changes as single function calls, from the engine.

The texts of its errors are for the operator.
"""

from wsnode._native.store import (
    DamagedRowError,
    DiskFullError,
    Environment,
    Reader,
    SnapshotLostError,
    StoreError,
    StoreFailedError,
    StoreMovedError,
    TooManySnapshotsError,
    Writer,
    inspect_pages,
    release_free_pages,
)

__all__ = [
    "DamagedRowError",
    "DiskFullError",
    "Environment",
    "Reader",
    "SnapshotLostError",
    "StoreError",
    "StoreFailedError",
    "StoreMovedError",
    "TooManySnapshotsError",
    "Writer",
    "inspect_pages",
    "release_free_pages",
]
