"""Reports to the master when this process has no free files for connections, and when it has some again."""

import logging
from typing import Final

import trio

from wsnode.node.workers.ipc import IpcChannel
from wsnode.node.workers.messages import Heartbeat, ToWorker
from wsnode.server.observability.open_files import has_free_files, most_files

LOOK_SECONDS: Final = 0.05
WAIT_SECONDS: Final = 1.0
"""Maximum seconds without reading messages; a waiting message may order the process to end."""

logger = logging.getLogger("wsnode.workers")


class FreeFiles:
    """Detector of a lack of free files, which reports it to the master."""

    def __init__(self, channel: IpcChannel[ToWorker]) -> None:
        self._channel = channel
        self._is_wanting, self._has_some = trio.Event(), trio.Event()

    async def wait(self) -> None:
        """Return once this process can receive another connection, or after `WAIT_SECONDS`."""
        if has_free_files():
            return
        if not self._is_wanting.is_set():
            logger.warning("gets no connections for now: it may have %d open files (ulimit -n)", most_files())
            self._channel.post(Heartbeat(is_full=True))
            self._is_wanting.set()
        with trio.move_on_after(WAIT_SECONDS):
            await self._has_some.wait()

    async def run(self) -> None:
        """Report to the master, for ever, when files have become free again."""
        while True:
            await self._is_wanting.wait()
            while not has_free_files():  # noqa: ASYNC110 - the system has no event for it
                await trio.sleep(LOOK_SECONDS)
            self._channel.post(Heartbeat(is_full=False))
            self._has_some.set()
            self._is_wanting, self._has_some = trio.Event(), trio.Event()
