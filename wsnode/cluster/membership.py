"""Membership in a cluster: announces this node, and learns of the others."""

import logging
import os
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import trio

from wsnode.cluster.journal import JournalUnavailableError
from wsnode.cluster.node_directory import REPORT_SECONDS, ClusterNode, NodeDirectory, PresentNodes
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.primitives.values import hexadecimal

OpenMeeting = Callable[[], AbstractAsyncContextManager[NodeDirectory]]

logger = logging.getLogger("wsnode.journal")


def process_name() -> str:
    """Return a name of this process that no other process of a cluster has."""
    return f"{socket.gethostname()}:{os.getpid()}:{os.urandom(4).hex()}"


class ClusterMembership:
    """Membership of this node, under a `name`, among the nodes of a chain; `run` has to be running.

    Without a `url` the other nodes do not learn of this one.
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
