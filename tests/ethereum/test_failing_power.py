"""What is left of two stores when the power or the process ends between their commits."""

import json
import random
import shutil
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest

from tests.sync.forks import genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.head import Head
from wsnode.ethereum.state import address_of, sign_transaction
from wsnode.ethereum.storage.folder import ChainFolder
from wsnode.ethereum.tree.tree import BlockTree

SECRET = bytes([7]) * 32
SENDER = address_of(SECRET)
NAME = "0x" + SENDER.hex()
KILLS = 10
LONGEST_RUN_SECONDS = 0.3
BLOCKS = 4


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


def is_beside(chain: Chain, head: Head) -> bool:
    with chain.snapshot() as view:
        return view.header(head.number) is None and view.side_header(head.hash) is not None


def kept(folder: ChainFolder, copies: Path, name: str) -> None:
    """Copy both stores as they are on the disk now."""
    for store in (folder.chain, folder.state):
        shutil.copyfile(store / "data.mdb", copies / f"{store.name}-{name}")


@pytest.mark.parametrize("is_patched", [False, True], ids=["plain", "patched"])
def test_whichever_stores_commit_was_lost_both_go_back_to_the_lower_head(
    tmp_path: Path, is_patched: bool
) -> None:
    folder, heads, roots = ChainFolder(tmp_path / "chain"), [], []
    with Chain.open(folder.path, rich_genesis(), writer=True) as chain:
        for number in range(BLOCKS):
            heads.append(grow(chain))
            if is_patched:
                chain.patch(json.dumps({NAME: {"balance": hex(10**22 + number)}}).encode())
            roots.append(chain.state.state_root)
            kept(folder, tmp_path, str(number))
    for pair in product(range(BLOCKS), repeat=2):
        for store, number in zip((folder.chain, folder.state), pair, strict=True):
            shutil.copyfile(tmp_path / f"{store.name}-{number}", store / "data.mdb")
        with Chain.open(folder.path, writer=True) as chain:
            lower = min(pair)
            assert chain.head == heads[lower]
            assert chain.state.committed_head == (heads[lower].number, heads[lower].hash)
            assert chain.state.state_root == roots[lower]
            assert sent_at(chain, chain.head) == lower + 1
            # What the chain store had more is beside it, to be executed again.
            assert all(is_beside(chain, head) for head in heads[lower + 1 : pair[0] + 1])
            assert grow(chain).number == heads[lower].number + 1


def test_blocks_of_a_chain_that_was_ahead_become_part_of_it_again(tmp_path: Path) -> None:
    folder = ChainFolder(tmp_path / "chain")
    with Chain.open(folder.path, rich_genesis(), writer=True) as chain:
        grow(chain)
        kept(folder, tmp_path, "before")
        head = grow(chain)
    shutil.copyfile(tmp_path / "state-before", folder.state / "data.mdb")
    with Chain.open(folder.path, writer=True) as chain:
        assert is_beside(chain, head)
        BlockTree(chain).set_head(head.hash)
        assert chain.head == head
        assert sent_at(chain, head) == 2


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
            time.sleep(chance.uniform(0, LONGEST_RUN_SECONDS))
            process.kill()
            lines += process.stdout.readlines()
        told |= {int(number): name for number, name in map(str.split, lines) if len(name) == 64}
        # As another process finds it, then as the next writer opens it.
        for writer in (False, True):
            with Chain.open(path, writer=writer) as chain:
                check_told(chain, told)
