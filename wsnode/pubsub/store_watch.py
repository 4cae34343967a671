"""Watch on a store written by other processes, so that subscribers get events without making a call.

Each commit opens and closes a file in the store's folder, and the kernel reports the close to every process
that watches the folder (inotify). So the writing process need not know its readers, and a killed reader
leaves nothing behind. The store's own file is not watched, because it changes many times before a commit is
complete.
"""

import ctypes
import logging
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

import trio

from wsnode.pubsub.fan_out import FanOut

CLOSED_AFTER_WRITING: Final = 0x8
"""IN_CLOSE_WRITE (inotify(7))."""
_READ_BYTES: Final = 16 * 1024


class CommitNotifier:
    """Watch on a store's folder for commits of other processes: `wait_ring` returns once a file was written
    there. It never returns without a folder, or if the system cannot watch the folder.
    """

    def __init__(self, folder: Path | None) -> None:
        self._descriptor = None if folder is None else _watch(folder)

    async def wait_ring(self) -> None:
        """Wait until a file of the folder was closed after writing, since the last call."""
        if self._descriptor is None:
            await trio.sleep_forever()
        await trio.lowlevel.wait_readable(self._descriptor)
        try:
            os.read(self._descriptor, _READ_BYTES)
        except BlockingIOError:
            return

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _watch(folder: Path) -> int | None:
    """Return the inotify descriptor of a watch on `folder`, None where the system allows no watch."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        descriptor: int = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, AttributeError):
        # Other systems have no inotify.
        return None
    if (
        descriptor >= 0
        and library.inotify_add_watch(descriptor, os.fsencode(folder), CLOSED_AFTER_WRITING) >= 0
    ):
        return descriptor
    reason = os.strerror(ctypes.get_errno())
    if descriptor >= 0:
        os.close(descriptor)
    logger.warning(
        "%s cannot be watched, so commits of other processes are seen by polling: %s", folder, reason
    )
    return None


WATCH_SECONDS: Final = 0.2
"""Seconds between two reads of the store if no commit is noticed meanwhile."""
_BACKLOG_SECONDS: Final = 0.005
_BACKLOG_BYTES: Final = 8 * 1024 * 1024

logger = logging.getLogger("wsnode.pubsub")


class StoreWatch:
    """Loop that calls a function to read the store, after each commit of another process and at an interval.

    While the function has more to publish, it is called again immediately.
    """

    __slots__ = ("_called", "_fan_out", "_folder", "_is_behind")

    def __init__(self, fan_out: FanOut, folder: Path | None = None) -> None:
        """Make a watch. It pauses while more than 8 MiB of events wait in `fan_out`.

        `folder` is the store's folder, if another process writes the store.
        """
        self._fan_out = fan_out
        self._folder = folder
        self._called = trio.Event()
        self._is_behind = False

    def take_note(self, *, is_behind: bool) -> None:
        """Record whether the last call of the function left events to publish."""
        self._is_behind = is_behind
        if is_behind:
            self._called.set()

    async def run(self, look: Callable[[], object]) -> None:
        """Call `look` again and again, for ever; `look` reports by `take_note`."""
        with closing(CommitNotifier(self._folder)) as notifier:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._answer, notifier)
                await self._look_again(look)

    async def _answer(self, notifier: CommitNotifier) -> None:
        while True:
            await notifier.wait_ring()
            self._called.set()

    async def _look_again(self, look: Callable[[], object]) -> None:
        while True:
            try:
                look()
            except Exception:
                # A failure of subscriptions must not end the answering of calls.
                logger.exception(
                    "subscriptions get no events: the store cannot be read; the read is tried again"
                )
            self._called = trio.Event()
            with trio.move_on_after(self._pause()):
                await self._called.wait()

    def _pause(self) -> float:
        if not self._is_behind:
            return WATCH_SECONDS
        return _BACKLOG_SECONDS if self._fan_out.queued_bytes > _BACKLOG_BYTES else 0
