"""A node that proves heads, killed at the next write of its light client; as a program, by a signal."""

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import trio
from trio.testing import MockClock

from tests.sync.follow.beacon.anchored_world import anchored_world, known_by
from tests.sync.follow.beacon.beacon_nodes import SLOT_SECONDS, Json, at_once
from tests.sync.follow.beacon.test_prover import expected_at, story
from wsnode.ethereum.storage import meta
from wsnode.store.environment import Environment, Writer

LAST_SLOT: Final = 197
"""Of the story's clock at the end."""

T = TypeVar("T")


class Killer:
    """Runs work at once, and kills at a write that changes what is known: before its commit, or after."""

    def __init__(self, vector: Json, kill: Callable[[], object], *, is_committed: bool) -> None:
        self._vector = vector
        self._kill = kill
        self._is_committed = is_committed
        self._is_due = False

    async def __call__(self, work: Callable[[], T], /) -> T:
        if isinstance(work, partial) and isinstance(getattr(work.func, "__self__", None), Environment):
            work = partial(work.func, partial(self._write, work.args[0]))
        result = await at_once(work)
        if self._is_due:
            self._is_due = False
            self._kill()
        return result

    def _write(self, body: Callable[[Writer], object], writer: Writer) -> None:
        before = known_by(self._vector, meta.light_client_row(writer))
        body(writer)
        if known_by(self._vector, meta.light_client_row(writer)) != before:
            if not self._is_committed:
                self._kill()
            self._is_due = True


def prove(
    folder: Path,
    fork: str,
    slot: int,
    kill: Callable[[int], object],
    *,
    is_committed: bool,
    has_checkpoint: bool,
) -> None:
    """Prove heads from a slot on to the end of the story; `kill` is given the slot at a change of the row."""
    vector = story(fork)

    async def run() -> None:
        began = trio.current_time() - slot * SLOT_SECONDS
        killer = Killer(
            vector,
            lambda: kill(int((trio.current_time() - began) // SLOT_SECONDS)),
            is_committed=is_committed,
        )
        async with anchored_world(
            folder, vector, slot, has_checkpoint=has_checkpoint, run_sync=killer
        ) as world:
            await world.until_slot(LAST_SLOT)
            assert world.proved_slots() == expected_at(vector, LAST_SLOT)
            assert world.asked_for_bootstrap() == has_checkpoint

    trio.run(run, clock=MockClock(autojump_threshold=0))


def main(folder: str, fork: str, slot: str, when: str, beginning: str) -> None:
    """Prove heads, print the slot of the next write of the row, and end there by SIGKILL."""

    def kill(at: int) -> None:
        print(at, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

    prove(
        *(Path(folder), fork, int(slot), kill),
        is_committed=when == "after",
        has_checkpoint=beginning == "checkpoint",
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
