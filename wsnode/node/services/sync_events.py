"""What the other processes of a node cannot see in the store of a network that one of them follows."""

from typing import Protocol


class SyncEvents(Protocol):
    """Tells the other processes."""

    def stands_anew(self) -> None:
        """Tell how the network stands, which has changed."""

    def heard(self, encoded: list[bytes]) -> None:
        """Tell of pending transactions that other nodes have."""

    def pooled(self, encoded: list[bytes], dropped: list[bytes]) -> None:
        """Tell of transactions that the pool has from other nodes, and of the hashes of what it dropped."""
