"""Events of a followed network that other processes of the node cannot read in its store."""

from typing import Protocol


class SyncEvents(Protocol):
    """Receiver of a network's events in the process that follows other nodes, to pass them to the node's
    other processes.
    """

    def stands_anew(self) -> None:
        """Report that the network's status has changed."""

    def heard(self, encoded: list[bytes]) -> None:
        """Report pending transactions of other nodes."""

    def pooled(self, encoded: list[bytes], dropped: list[bytes]) -> None:
        """Report transactions that were copied from other nodes' pools, and the hashes of dropped ones."""
