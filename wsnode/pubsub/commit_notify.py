"""Notices of commits by other processes: each commit opens and closes a file in the store's folder.

The kernel reports the close to every process that watches the folder (inotify). So the writing process need
not know its readers, and a killed reader leaves nothing behind. The store's own file is not watched, because
it changes many times before a commit is complete.
"""

import ctypes
import logging
import os
from pathlib import Path
from typing import Final

import trio

CLOSED_AFTER_WRITING: Final = 0x8
"""IN_CLOSE_WRITE (inotify(7))."""
_READ_BYTES: Final = 16 * 1024

logger = logging.getLogger("wsnode.pubsub")


class CommitNotifier:
    """Watch on a folder. It never rings without a folder, or if the system cannot watch the folder."""

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
        """Stop watching."""
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
