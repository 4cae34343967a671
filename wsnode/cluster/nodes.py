"""The nodes of a chain that are there: where each can be asked, and how far it is."""

from typing import Final, Protocol

import msgspec

NODE_SECONDS: Final = 10.0
"""How long a node counts as there after it has said so."""
REPORT_SECONDS: Final = 3.0
MOST_NODES: Final = 1000
"""That are returned."""


class Node(msgspec.Struct, frozen=True):
    """A node as it says of itself; nothing of it is believed but where to ask."""

    name: str
    """The name of its process, which is that of the lease's holder if it writes the chain."""
    url: str
    """Where it answers over HTTP."""
    number: int
    hash: str


class Present(msgspec.Struct, frozen=True):
    """The nodes that are there, and which of them writes the chain."""

    nodes: tuple[Node, ...] = ()
    writer: str | None = None
    """The name of the process that has the lease."""
    epoch: int = 0
    """Of the last lease, 0 if there was none: no two processes that write have one."""

    @property
    def leader(self) -> Node | None:
        """Return the node that writes the chain, None if it is not there or says not where it is."""
        return next((node for node in self.nodes if node.name == self.writer), None)

    def others(self, name: str) -> list[Node]:
        """Return all but one, the highest first."""
        return sorted((node for node in self.nodes if node.name != name), key=lambda node: -node.number)


class Meeting(Protocol):
    """Where nodes of one chain say that they are there."""

    async def meet(self, node: Node | None) -> Present:
        """Return the nodes that are there, and have one be among them.

        Raises:
            JournalAwayError: It cannot be reached.
        """
