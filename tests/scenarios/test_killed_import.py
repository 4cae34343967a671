"""An import killed at any moment loses nothing that was committed, and continues to the right head."""

import json
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.slices import result_of
from tests.vector_files import require_vectors
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.chain_tables import LogCriteria
from wsnode.ethereum.head import Head
from wsnode.ethereum.logs.index import LogMatches, search_logs
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.storage.errors import NoChainError
from wsnode.store.environment import StoreError

KILLS = [pytest.param(4, id="some"), pytest.param(30, marks=pytest.mark.nightly, id="many")]
MAX_RUN_SECONDS = 4.0

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bench() -> Path:
    return require_vectors("bench") / "standard"


@pytest.fixture(scope="module")
def meta(bench: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((bench / "meta.json").read_text())
    return found


@pytest.fixture(scope="module")
def whole(bench: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chain]:
    """The chain after an import without interruption."""
    data = tmp_path_factory.mktemp("whole")
    subprocess.run(command(data, bench), check=True, stdout=subprocess.DEVNULL)
    with Chain.open(data / "eth", writer=False) as chain:
        yield chain


def command(data: Path, bench: Path) -> list[str]:
    genesis, blocks = str(bench / "genesis.json"), str(bench / "chain.rlp.gz")
    return [
        sys.executable,
        "-m",
        "wsnode",
        "import",
        "eth",
        "--data",
        str(data),
        "--genesis",
        genesis,
        blocks,
    ]


def killed_after(seconds: float, data: Path, bench: Path) -> bool:
    """Return whether the import was still running when it was killed."""
    process = subprocess.Popen(command(data, bench), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    running = process.poll() is None
    process.kill()
    process.wait()
    return running


def search(snapshot: Snapshot, topic: bytes, last: int) -> LogMatches:
    return result_of(search_logs(snapshot.reader, LogCriteria((), [[topic]]), 0, last))


def check(killed: Snapshot, whole: Snapshot, meta: dict[str, Any], chance: random.Random) -> None:
    """Compare what a killed import left with the whole chain up to the same head."""
    head = killed.number
    assert killed.hash_of(head) == killed.head.hash == whole.hash_of(head)
    for number in {0, head, *(chance.randint(0, head) for _ in range(20))}:
        assert killed.header(number) == whole.header(number)
        assert killed.body(number) == whole.body(number)
        assert killed.receipts(number) == whole.receipts(number)
        assert killed.total_difficulty(number) == whole.total_difficulty(number)
        assert killed.log_count_before(number) == whole.log_count_before(number)
        assert killed.number_of(whole.hash_of(number) or b"") == number
        for name in ("token", "rare", "coinbase"):
            address = bytes.fromhex(meta[name][2:])
            block = (number, killed.hash_of(number) or b"")
            assert killed.state.account(address, block) == whole.state.account(address, block)
    assert killed.header(head + 1) is None
    for topic in ("transferTopic", "rareTopic"):
        value = bytes.fromhex(meta[topic][2:])
        assert search(killed, value, head) == search(whole, value, head)


def opened(
    data: Path, whole: Chain, meta: dict[str, Any], chance: random.Random, last: int, *, writer: bool
) -> int:
    """Return the head that a killed import left, which is right and not before the last one."""
    with Chain.open(data / "eth", writer=writer) as chain:
        assert chain.head.number >= last
        with chain.snapshot() as killed, whole.snapshot() as reference:
            check(killed, reference, meta, chance)
        return chain.head.number


@contextmanager
def refused_at_its_beginning() -> Iterator[None]:
    """Let a reader refuse a folder whose import was killed before the genesis was there."""
    try:
        yield
    except NoChainError:
        pass
    except StoreError as error:
        if re.search("has no table|is cut short: it has 0 bytes", str(error)) is None:
            raise


@pytest.mark.parametrize("most", KILLS)
def test_kills_at_random_moments_lose_nothing(
    bench: Path, meta: dict[str, Any], whole: Chain, tmp_path: Path, most: int
) -> None:
    chance = random.Random(7070)
    data, last, kills = tmp_path / "data", 0, 0
    while kills < most:
        kills += killed_after(chance.uniform(0.1, MAX_RUN_SECONDS), data, bench)
        if not (data / "eth" / "chain" / "data.mdb").exists():
            continue
        # First as a server would find it, then as the next import does.
        with refused_at_its_beginning() if last == 0 else nullcontext():
            last = opened(data, whole, meta, chance, last, writer=False)
        last = opened(data, whole, meta, chance, last, writer=True)
        if last == meta["headNumber"]:
            shutil.rmtree(data)
            last = 0
    subprocess.run(command(data, bench), check=True, stdout=subprocess.DEVNULL)
    with Chain.open(data / "eth", writer=False) as chain:
        assert chain.head == Head(meta["headNumber"], chain.head.hash)
        assert chain.head.hash.hex() == meta["headHash"][2:]
        assert chain.head == whole.head
