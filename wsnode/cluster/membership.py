"""Nodes of a chain: their announcements, and the membership by which this node learns of the others."""

import logging
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from typing import Annotated, Final, Protocol

import msgspec
import trio

from wsnode.cluster.journal import JournalUnavailableError
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.untrusted.decoding import JsonDecoder, MalformedError

NODE_SECONDS: Final = 10.0
"""Seconds for which a node counts as present after its last announcement."""
REPORT_SECONDS: Final = 3.0
MAX_NODE_BYTES: Final = 4096
"""Maximum number of bytes of a node's announcement."""
MAX_NODES: Final = 1000
"""Maximum number of nodes that are returned."""


class ClusterNode(msgspec.Struct, frozen=True):
    """Announcement of a node in the shared directory: its process's name, its HTTP URL, and the number and
    hash of its head, with number -1 before the first block. Number and hash only order the nodes, and are not
    trusted.
    """

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
    """Nodes announced in the directory of a chain, and the process with the lease to write its journal."""

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
    """Directory in which the nodes of one chain announce themselves, implemented by `RedisJournal`."""

    async def meet(self, node: ClusterNode | None) -> PresentNodes:
        """Announce a node unless it is None, and return the present nodes.

        Raises:
            JournalUnavailableError: The directory cannot be reached.
        """


OpenMeeting = Callable[[], AbstractAsyncContextManager[NodeDirectory]]

logger = logging.getLogger("wsnode.journal")


def process_name() -> str:
    """Return a name of this process that no other process of a cluster has."""
    return f"{socket.gethostname()}:{os.getpid()}:{os.urandom(4).hex()}"


class ClusterMembership:
    """Announcements of this node, under `name`, to the other nodes of its chain, and the last received list
    of these; works while `run` is running. Without a `url` this node is not announced, and still sees the
    others.
    """

    def __init__(self, chain: Chain, open_meeting: OpenMeeting, name: str, url: str | None) -> None:
        self._chain = chain
        self.open = open_meeting
        self.name = name
        self._url = url
        self.present = PresentNodes()
        self._met = trio.Event()
        self._is_away = True

    @property
    def has_writer(self) -> bool | None:
        """Return True if a process has the lease; None while the journal cannot be asked."""
        return None if self._is_away else self.present.writer is not None

    async def others(self, seconds: float) -> list[ClusterNode]:
        """Return the other nodes, the highest first, once there are any; none after `seconds`."""
        with trio.move_on_after(seconds):
            while not (others := self.present.others(self.name)):
                await self._met.wait()
        return others

    async def next_meeting(self) -> PresentNodes:
        """Return the present nodes after the next exchange with the journal."""
        await self._met.wait()
        return self.present

    async def run(self) -> None:
        while True:
            try:
                async with self.open() as meeting:
                    while True:
                        self.present = await meeting.meet(self._mine())
                        self._is_away = False
                        met, self._met = self._met, trio.Event()
                        met.set()
                        await trio.sleep(REPORT_SECONDS)
            except JournalUnavailableError as error:
                self._is_away = True
                logger.debug("the journal cannot list the other nodes: %s", error)
            await trio.sleep(REPORT_SECONDS)

    def _mine(self) -> ClusterNode | None:
        if self._url is None:
            return None
        head = self._chain.head
        return ClusterNode(self.name, self._url, head.number, hexadecimal(head.hash))
