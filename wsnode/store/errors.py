"""What can go wrong with a store, in words that an operator can act on."""


class StoreError(Exception):
    """The store cannot be read or written."""


class DiskFullError(StoreError):
    """The file system has no room for the change; nothing of it was kept."""


class SnapshotLostError(StoreError):
    """The file's map was enlarged while the snapshot was open; asking again succeeds."""
