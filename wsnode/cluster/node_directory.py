"""The nodes of a chain that are there: where each can be asked, and how far it is."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Annotated, Final, Protocol

import msgspec

from wsnode.untrusted.decoding import JsonDecoder, MalformedError

NODE_SECONDS: Final = 10.0
"""How long a node counts as there after it has said so."""
REPORT_SECONDS: Final = 3.0
MOST_NODE_BYTES: Final = 4096
"""Of what a node says of itself."""
MOST_NODES: Final = 1000
"""That are returned."""


class ClusterNode(msgspec.Struct, frozen=True):
    """A node as it says of itself; nothing of it is believed but where to ask."""

    name: str
    """The name of its process, which is that of the lease's holder if it writes the chain."""
    url: str
    """Where it answers over HTTP."""
    number: Annotated[int, msgspec.Meta(ge=-1, le=(1 << 63) - 1)]
    hash: str


_NODE: Final = JsonDecoder(ClusterNode)


def decode_nodes(texts: Iterable[bytes]) -> Iterator[ClusterNode]:
    """Yield what nodes say of themselves.

    What another version says in another form is as if it said nothing.
    """
    for text in texts:
        with suppress(MalformedError):
            yield _NODE.decode(text)


class PresentNodes(msgspec.Struct, frozen=True):
    """The nodes that are there, and which of them writes the chain."""

    nodes: tuple[ClusterNode, ...] = ()
    writer: str | None = None
    """The name of the process that has the lease."""
    epoch: int = 0
    """Of the last lease, 0 if there was none: no two processes that write have one."""

    @property
    def leader(self) -> ClusterNode | None:
        """Return the node that writes the chain, None if it is not there or says not where it is."""
        return next((node for node in self.nodes if node.name == self.writer), None)

    def others(self, name: str) -> list[ClusterNode]:
        """Return all but one, the highest first."""
        return sorted((node for node in self.nodes if node.name != name), key=lambda node: -node.number)


class NodeDirectory(Protocol):
    """Where nodes of one chain say that they are there."""

    async def meet(self, node: ClusterNode | None) -> PresentNodes:
        """Return the nodes that are there, and have one be among them.

        Raises:
            JournalUnavailableError: It cannot be reached.
        """
