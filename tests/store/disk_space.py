"""What files take on the disk, where holes take nothing."""

from pathlib import Path

BLOCK = 512
"""The bytes of what `st_blocks` counts (stat(2))."""


def disk_bytes(store: Path) -> int:
    """Return the bytes that the file of an LMDB folder takes on the disk."""
    return (store / "data.mdb").stat().st_blocks * BLOCK
