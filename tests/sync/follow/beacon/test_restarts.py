"""Restarts of a node whose head is proved: after slots and periods, and killed at any write of its row."""

import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from trio.testing import MockClock

from tests.ethereum.live.growing import emitting_genesis
from tests.node_process import PATIENCE
from tests.sync.follow.beacon.anchored_world import anchored_world, known_by
from tests.sync.follow.beacon.beacon_nodes import at_once
from tests.sync.follow.beacon.killed_at_writes import LAST_SLOT, prove
from tests.sync.follow.beacon.test_prover import START, expected_at, story
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.storage import meta
from wsnode.store.environment import Environment

pytestmark = pytest.mark.slow

PERIOD_SLOTS = 64
NOTHING = (0, False)
"""What is known before the first row."""

T = TypeVar("T")

each_fork = pytest.mark.parametrize("fork", ["fulu", "gloas"])

Run = Callable[[Path, str, int, str, str], int | None]
"""Returns the slot in which a node was killed, None at the end of the story; given a folder, a fork, a slot,
`before` or `after` a commit, and `checkpoint` or `row`, which it begins with.
"""


class KilledError(Exception):
    """Ends a node where it stands; its one argument is the slot."""


@each_fork
@pytest.mark.parametrize(
    ("first", "last"),
    [
        pytest.param(88, 89, id="1 slot"),
        pytest.param(120, 130, id="10 slots"),
        pytest.param(62, 126, id="1 period"),
        pytest.param(62, 197, id="3 periods"),
    ],
)
async def test_a_restart_goes_on_from_its_row(
    first: int, last: int, fork: str, tmp_path: Path, autojump_clock: MockClock
) -> None:
    vector = story(fork)
    async with anchored_world(tmp_path, vector, START, has_checkpoint=True) as world:
        await world.until_slot(first)
        assert world.asked_for_bootstrap()
    async with anchored_world(tmp_path, vector, last, has_checkpoint=False) as world:
        await world.until_slot(last)
        assert world.proved_slots() == expected_at(vector, last)
        assert world.anchor.members()["state"] == "proving"
        assert not world.asked_for_bootstrap()


async def test_a_restart_does_not_store_again_what_is_stored(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    vector = story("fulu")
    async with anchored_world(tmp_path, vector, START, has_checkpoint=True) as world:
        await world.until_slot(88)
    writes: list[object] = []

    async def note_writes(work: Callable[[], T], /) -> T:
        if isinstance(work, partial) and isinstance(getattr(work.func, "__self__", None), Environment):
            writes.append(work)
        return await at_once(work)

    async with anchored_world(tmp_path, vector, 88, has_checkpoint=False, run_sync=note_writes) as world:
        await world.until_slot(88)
        assert world.proved_slots() == expected_at(vector, 88)
        assert writes == []
        await world.until_slot(130)
        assert writes


def row_of(folder: Path) -> bytes | None:
    """Return what a folder keeps of the light client."""
    with (
        Chain.open(folder, emitting_genesis(), writer=True, durable=False) as chain,
        chain.store.read() as reader,
    ):
        return meta.light_client_row(reader)


def run_here(folder: Path, fork: str, slot: int, when: str, beginning: str) -> int | None:
    """Return the slot in which a node was killed by an exception."""

    def kill(at: int) -> None:
        raise KilledError(at)

    found: list[int] = []
    try:
        prove(
            *(folder, fork, slot, kill),
            is_committed=when == "after",
            has_checkpoint=beginning == "checkpoint",
        )
    except* KilledError as group:
        killed: BaseException = group
        while isinstance(killed, BaseExceptionGroup):
            (killed,) = killed.exceptions
        found = [killed.args[0]]
    return found[0] if found else None


def run_as_process(folder: Path, fork: str, slot: int, when: str, beginning: str) -> int | None:
    """Return the slot in which a node was killed by SIGKILL."""
    command = [sys.executable, "-m", "tests.sync.follow.beacon.killed_at_writes"]
    ended = subprocess.run(
        [*command, str(folder), fork, str(slot), when, beginning],
        stdout=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode in (0, -signal.SIGKILL)
    return int(ended.stdout) if ended.returncode else None


@pytest.mark.parametrize(
    ("run", "fork"),
    [
        pytest.param(run_here, "fulu", id="exception"),
        pytest.param(run_here, "gloas", id="exception-gloas", marks=pytest.mark.nightly),
        pytest.param(run_as_process, "fulu", id="SIGKILL", marks=pytest.mark.nightly),
    ],
)
def test_a_kill_at_any_write_of_the_row_leaves_the_earlier_or_the_new_one(
    run: Run, fork: str, tmp_path: Path
) -> None:
    vector, folder = story(fork), tmp_path
    slot: int | None = START
    left: bytes | None = None
    kills = 0
    while slot is not None:
        beginning = "checkpoint" if left is None else "row"
        slot = run(folder, fork, slot, "before", beginning)
        assert row_of(folder) == left
        if slot is not None:
            assert run(folder, fork, slot, "after", beginning) == slot
            earlier, left = left, row_of(folder)
            assert (known_by(vector, left) or NOTHING) > (known_by(vector, earlier) or NOTHING)
            kills += 1
    # With what is final in the end of three periods the last row was written.
    assert known_by(vector, left) == (expected_at(vector, LAST_SLOT)[1], True)
    assert kills > LAST_SLOT // PERIOD_SLOTS
