"""Detection of silent processes, and the end of hung ones."""

import logging
from collections.abc import Callable
from typing import Final

import trio

from wsnode.node.workers.master.worker_process import WorkerProcess
from wsnode.node.workers.messages import SILENT_SECONDS

LOOK_SECONDS: Final = 0.5
HUNG_SECONDS: Final = 30.0
"""Seconds without a message after which a process counts as hung and is ended."""
ABORT_SECONDS: Final = 2.0
"""Seconds for a hung process to print its stacks before it is killed."""

logger = logging.getLogger("wsnode.workers")


async def watch(
    worker: WorkerProcess, on_silent: Callable[[WorkerProcess], None], on_hung: Callable[[], None]
) -> None:
    """Watch a process until it hangs, and end it then; call `on_silent` whenever it stops reporting.

    The watch begins once the process is ready: until then it may take long to open its stores.
    """
    await worker.ready.wait()
    while worker.silence < HUNG_SECONDS:
        was_silent = worker.is_silent
        await _look_again(worker)
        if worker.is_silent and not was_silent:
            consequence = "is not asked" if worker.follows else "gets no connections"
            logger.warning("%s has not reported for %.0f s: it %s", worker.name, SILENT_SECONDS, consequence)
            on_silent(worker)
    logger.error("%s has not reported for %.0f s and is ended", worker.name, HUNG_SECONDS)
    on_hung()
    worker.abort()
    await trio.sleep(ABORT_SECONDS)
    worker.kill()


async def _look_again(worker: WorkerProcess) -> None:
    before = trio.current_time()
    await trio.sleep(LOOK_SECONDS)
    # Nothing is known of the time in which this process itself did not run.
    worker.silence += min(trio.current_time() - before, 2 * LOOK_SECONDS)


def note_heard(worker: WorkerProcess) -> None:
    """Record a message of a process."""
    if worker.is_silent:
        logger.warning("%s reports again after %.0f s", worker.name, worker.silence)
    worker.silence = 0.0
