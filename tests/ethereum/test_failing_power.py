"""Blocks that are left of a chain after a power failure or a kill."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.doctor.damage import Silence
from tests.drawing import examples
from tests.store.failing_writes import needs_compiler
from tests.store.power_failures import (
    NOTES,
    SYNC,
    SYNCED_WRITE,
    Note,
    build_noting_library,
    left_on_disk,
    read_notes,
)
from tests.sync.forks import genesis
from wsnode.doctor.chain.examine import examine
from wsnode.doctor.faults import FaultCollector
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.state import address_of, sign_transaction
from wsnode.ethereum.storage.tables import TABLES
from wsnode.store.table import check_rows

SECRET = bytes([7]) * 32
SENDER = address_of(SECRET)
NAME = "0x" + SENDER.hex()
KILLS = examples(10)
MAX_RUN_SECONDS = 0.3
FAILURES = [pytest.param(60, id="some"), pytest.param(1000, marks=pytest.mark.nightly, id="many")]


def rich_genesis() -> bytes:
    members = json.loads(genesis(merged=True))
    members["alloc"] = {SENDER.hex(): {"balance": "0x" + "f" * 20}}
    return json.dumps(members).encode()


def transaction(nonce: int) -> bytes:
    return sign_transaction(
        SECRET,
        chain_id=1,
        nonce=nonce,
        to=bytes(20),
        value=1,
        input=b"",
        gas=21_000,
        max_fee=10**10,
        max_priority_fee=1,
    )


def grow(chain: Chain) -> Head:
    """Return the new head: as many blocks as the sender has sent transactions."""
    builder = BlockBuilder(chain)
    sent = [transaction(builder.tip.number)]
    return builder.append(sent, timestamp=builder.tip.timestamp + 12, fee_recipient=bytes(20)).head


def sent_at(chain: Chain, head: Head) -> int:
    account = chain.state.account(SENDER, (head.number, head.hash))
    assert account is not None
    return account[0]


def check_told(chain: Chain, told: dict[int, str]) -> None:
    with chain.snapshot() as view:
        assert {number: (view.hash_of(number) or b"").hex() for number in told} == told
        assert view.number <= max(told) + 1
        assert sent_at(chain, view.head) == view.number


GROWING = """
import sys
from pathlib import Path
from tests.ethereum.test_failing_power import grow, rich_genesis
from wsnode.ethereum.chain import Chain
with Chain.open(Path(sys.argv[1]), rich_genesis(), writer=True) as chain:
    while True:
        head = grow(chain)
        print(head.number, head.hash.hex(), flush=True)
"""


@pytest.mark.slow
def test_a_block_that_was_told_outlives_a_kill_at_any_moment(tmp_path: Path) -> None:
    chance, path = random.Random(52), tmp_path / "chain"
    told: dict[int, str] = {}
    for _ in range(KILLS):
        command = [sys.executable, "-c", GROWING, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline()]
            time.sleep(chance.uniform(0, MAX_RUN_SECONDS))
            process.kill()
            lines += process.stdout.readlines()
        told |= {int(number): name for number, name in map(str.split, lines) if len(name) == 64}
        # As another process finds it, then as the next writer opens it.
        for writer in (False, True):
            with Chain.open(path, writer=writer) as chain:
                check_told(chain, told)


CHANGING = """
import json, os, sys
from pathlib import Path
from tests.ethereum.test_failing_power import NAME, grow, rich_genesis
from tests.store.power_failures import NOTES
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.primitives.values import hexadecimal
notes = Path(os.environ[NOTES])

def tell(chain):
    head, root = chain.head, chain.state.state_root
    print(notes.stat().st_size, head.number, hexadecimal(head.hash), hexadecimal(root), flush=True)

with Chain.open(Path(sys.argv[1]), rich_genesis(), writer=True) as chain:
    tell(chain)
    for turn in range(12):
        lower = chain.head
        for _ in range(3):
            grow(chain)
            tell(chain)
        chain.unwind(lower.number)
        tell(chain)
        chain.patch(json.dumps({NAME: {"balance": hex(10**22 + turn)}}).encode())
        tell(chain)
        for _ in range(2):
            grow(chain)
            tell(chain)
        chain.unwind(lower.number)
        tell(chain)
        grow(chain)
        tell(chain)
"""


Told = tuple[str, ...]


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Note], list[tuple[int, Told]]]:
    """Return the writes of a changing chain, and its heads, each with the bytes of the notes before it."""
    folder = tmp_path_factory.mktemp("noted")
    notes, library = folder / "notes", build_noting_library(folder)
    environment = {**os.environ, "LD_PRELOAD": str(library), NOTES: str(notes)}
    command = [sys.executable, "-c", CHANGING, str(folder / "chain")]
    lines = subprocess.check_output(command, env=environment, text=True).splitlines()
    told = [(int(end), tuple(rest)) for end, *rest in map(str.split, lines)]
    return list(read_notes(notes.read_bytes())), told


@pytest.mark.slow
@needs_compiler
def test_each_change_costs_two_syncs(noted: tuple[list[Note], list[tuple[int, Told]]]) -> None:
    notes, told = noted
    for (before, _), (after, _) in pairwise(told):
        kinds = [note.kind for note in notes if before < note.end <= after]
        assert [kind for kind in kinds if kind] == [SYNC, SYNCED_WRITE]
        assert kinds[-1] == SYNCED_WRITE, "the head is written last"


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("failures", FAILURES)
def test_what_was_told_outlives_a_power_failure_at_any_moment(
    noted: tuple[list[Note], list[tuple[int, Told]]], tmp_path: Path, failures: int
) -> None:
    (notes, told), chance = noted, random.Random(failures)
    first = next(place for place, note in enumerate(notes) if note.end >= told[0][0])
    for number in range(failures):
        count = chance.randrange(first + 1, len(notes) + 1)
        place = max(place for place, (end, _) in enumerate(told) if end <= notes[count - 1].end)
        folder = tmp_path / f"left{number}"
        (folder / "chain").mkdir(parents=True)
        (folder / "genesis.json").write_bytes(rich_genesis())
        (folder / "chain/data.mdb").write_bytes(left_on_disk(notes[:count], chance))
        for writer in (False, True):
            with Chain.open(folder, writer=writer) as chain:
                # The head that was reported last, or the next one.
                found = (str(chain.head.number), *map(hexadecimal, (chain.head.hash, chain.state.state_root)))
                assert found in [each for _, each in told[place : place + 2]]
                check_sound(chain)
        shutil.rmtree(folder)


def check_sound(chain: Chain) -> None:
    """Check every row and the state after the head."""
    found = FaultCollector(Silence())
    check_rows(chain.store, TABLES, Silence(), found.fault)
    examine(chain, found)
    assert found.faults == {}
