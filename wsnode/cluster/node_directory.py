"""Directory of a chain's present nodes: their URLs, and their heads."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Annotated, Final, Protocol

import msgspec

from wsnode.untrusted.decoding import JsonDecoder, MalformedError

NODE_SECONDS: Final = 10.0
"""Seconds for which a node counts as present after its last announcement."""
REPORT_SECONDS: Final = 3.0
MAX_NODE_BYTES: Final = 4096
"""Maximum number of bytes of a node's announcement."""
MAX_NODES: Final = 1000
"""Maximum number of nodes that are returned."""


class ClusterNode(msgspec.Struct, frozen=True):
    """Announcement of a node; only its URL is used, and nothing is believed."""

    name: str
    """Name of the node's process, which is the name of the lease's holder if it writes the chain."""
    url: str
    """URL at which the node answers over HTTP."""
    number: Annotated[int, msgspec.Meta(ge=-1, le=(1 << 63) - 1)]
    hash: str


_NODE: Final = JsonDecoder(ClusterNode)


def decode_nodes(texts: Iterable[bytes]) -> Iterator[ClusterNode]:
    """Yield the decoded announcements; those in another form are left out."""
    for text in texts:
        with suppress(MalformedError):
            yield _NODE.decode(text)


class PresentNodes(msgspec.Struct, frozen=True):
    """Present nodes, and the name of the one that writes the chain."""

    nodes: tuple[ClusterNode, ...] = ()
    writer: str | None = None
    """Name of the process that has the lease, None if none has."""
    epoch: int = 0
    """Epoch of the last lease, 0 if there was none; no two writers have the same."""

    @property
    def leader(self) -> ClusterNode | None:
        """Return the node that writes the chain, None if it is not present or has no URL."""
        return next((node for node in self.nodes if node.name == self.writer), None)

    def others(self, name: str) -> list[ClusterNode]:
        """Return all nodes but the one with a name, the highest first."""
        return sorted((node for node in self.nodes if node.name != name), key=lambda node: -node.number)


class NodeDirectory(Protocol):
    """Directory in which the nodes of one chain announce themselves."""

    async def meet(self, node: ClusterNode | None) -> PresentNodes:
        """Announce a node unless it is None, and return the present nodes.

        Raises:
            JournalUnavailableError: The directory cannot be reached.
        """
