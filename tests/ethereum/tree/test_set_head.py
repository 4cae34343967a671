import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.drawing import examples
from tests.ethereum.tree.random_trees import GENESIS, SPEC, Node, decoded, random_tree, spoiled
from tests.ethereum.tree.watching import watched_heads
from tests.file_limits import files_of_at_most
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import HeadChange
from wsnode.ethereum.state import StateError
from wsnode.ethereum.storage.errors import StoreError
from wsnode.ethereum.tree.statuses import (
    InvalidBlock,
    UnknownForkchoiceBlockError,
    UnknownParentBlock,
    ValidBlock,
)
from wsnode.ethereum.tree.tree import BlockTree

KILLS = examples(12)
MAX_RUN_SECONDS = 0.3


def judged(tree: BlockTree, nodes: list[Node]) -> None:
    for node in nodes:
        assert isinstance(tree.judge(node.block), ValidBlock)


def moved(change: object) -> tuple[list[bytes], list[bytes]]:
    """Return the hashes of the blocks that left and of those that joined."""
    assert isinstance(change, HeadChange)
    return [head.hash for head in change.removed], [head.hash for head in change.added]


def marks(chain: Chain) -> tuple[int | None, int | None]:
    with chain.snapshot() as view:
        return view.safe, view.finalized


def test_a_head_moves_forward_sideways_and_back(tree: BlockTree, chain: Chain) -> None:
    first, second, other, third = random_tree(1, [1, 2, 1])[:2] + random_tree(1, [1, 2, 1])[3:]
    judged(tree, [first, second, other, third])
    assert moved(tree.set_head(second.hash)) == ([], [first.hash, second.hash])
    assert moved(tree.set_head(second.hash)) == ([], [])
    assert moved(tree.set_head(third.hash)) == ([second.hash], [other.hash, third.hash])
    assert moved(tree.set_head(first.hash)) == ([third.hash, other.hash], [])
    assert chain.head.hash == first.hash
    assert moved(tree.set_head(SPEC.genesis_hash)) == ([first.hash], [])
    assert moved(tree.set_head(third.hash)) == ([], [first.hash, other.hash, third.hash])


def test_an_appended_block_is_the_head_if_it_follows_it_and_is_valid(tree: BlockTree, chain: Chain) -> None:
    first, second, other = random_tree(2, [1, 2])
    for node, head in ((second, None), (first, first), (second, second), (other, second), (first, second)):
        status = tree.append(node.block)
        assert isinstance(status, ValidBlock if head is not None else UnknownParentBlock)
        assert chain.head.hash == (SPEC.genesis_hash if head is None else head.hash)
    wrong = spoiled(second)
    tree.set_head(first.hash)
    assert isinstance(tree.append(wrong.block), InvalidBlock)
    assert chain.head.hash == first.hash


def test_safe_and_final_blocks_lie_on_the_branch_of_the_head(tree: BlockTree, chain: Chain) -> None:
    first, second, third, other, *_ = random_tree(2, [1, 2, 1])
    judged(tree, [first, second, third, other])
    tree.set_head(third.hash, safe=second.hash, finalized=first.hash)
    assert marks(chain) == (2, 1)
    for wrong in ({"safe": other.hash}, {"finalized": other.hash}, {"safe": bytes(32)}):
        with pytest.raises(UnknownForkchoiceBlockError):
            tree.set_head(third.hash, **wrong)
        with pytest.raises(UnknownForkchoiceBlockError):
            # Nothing of it may happen.
            tree.set_head(second.hash, **wrong)
        assert (chain.head.hash, marks(chain)) == (third.hash, (2, 1))
    tree.set_head(third.hash, safe=third.hash)
    assert marks(chain) == (3, 1)
    tree.set_head(other.hash)
    assert marks(chain) == (1, 1)
    tree.set_head(other.hash, safe=other.hash, finalized=other.hash)
    assert marks(chain) == (2, 2)


def test_an_unknown_block_is_no_head(tree: BlockTree, chain: Chain) -> None:
    before = chain.head
    with pytest.raises(UnknownForkchoiceBlockError, match="the head block 0x0101"):
        tree.set_head(b"\x01" * 32)
    assert chain.head == before


def test_without_room_on_the_disk_the_head_stays_what_it_was(tmp_path: Path) -> None:
    nodes = random_tree(4, [1, 2, 1, 1, 1], transactions=12)
    old, new = nodes[1:5], nodes[5:]
    with Chain.open(tmp_path, GENESIS, writer=True, durable=False) as chain:
        tree = BlockTree(chain)
        judged(tree, nodes)
        tree.set_head(old[-1].hash)
        size = (tmp_path / "chain/data.mdb").stat().st_size
        with files_of_at_most(min(size, 8192)), pytest.raises((StateError, StoreError)):
            tree.set_head(new[-1].hash)
        assert chain.head.hash == old[-1].hash
        assert chain.state.committed_head == (old[-1].number, old[-1].hash)
        assert moved(tree.set_head(new[-1].hash))[1][-1] == new[-1].hash
        assert chain.state.committed_head == (5, new[-1].hash)


def test_executed_blocks_without_room_are_forgotten_and_can_be_given_again(tmp_path: Path) -> None:
    blocks = [node.block for node in random_tree(4, [1, 1, 1, 1], transactions=12)]
    with Chain.open(tmp_path, GENESIS, writer=True, durable=False) as chain:
        tree = BlockTree(chain)
        tree.extend(blocks[:2])
        pending = tree.take_pending()
        # Blocks may be written beside the execution of what follows.
        tree.extend(blocks[2:3])
        with files_of_at_most(4096), pytest.raises((StateError, StoreError)):
            tree.store(pending)
        assert chain.head.number == 0
        assert tree.extend(blocks[2:]).taken == 0
        assert tree.extend(blocks).taken == 4
        tree.store_pending()
        assert chain.head.hash == blocks[-1].hash
        assert chain.state.committed_head == (4, blocks[-1].hash)


SWITCHING = """
import sys
from pathlib import Path
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import decode_blocks
from wsnode.ethereum.tree.tree import BlockTree
folder, genesis, *files = map(Path, sys.argv[1:])
encoded = [file.read_bytes() for file in files]
with Chain.open(folder, genesis.read_bytes(), writer=True) as chain:
    tree = BlockTree(chain)
    blocks = decode_blocks(chain.spec, encoded)[0]
    for block in blocks:
        tree.judge(block)
    tips = [blocks[len(blocks) // 2 - 1], blocks[-1], blocks[len(blocks) // 4]]
    print("ready", flush=True)
    while True:
        for tip in tips:
            tree.set_head(tip.hash)
"""


def tips_of(nodes: list[Node]) -> list[Node]:
    """Return the blocks between which `SWITCHING` moves the head."""
    return [nodes[len(nodes) // 2 - 1], nodes[-1], nodes[len(nodes) // 4]]


def check_opened(folder: Path, nodes: list[Node], *, writer: bool) -> None:
    """Open what a killed process left: the branch to one of the tips, or no block yet."""
    branches = [{each.number: each for each in nodes[:6]}, {each.number: each for each in nodes[6:]}]
    with Chain.open(folder, writer=writer) as chain, chain.snapshot() as view:
        number = view.number
        assert view.head.hash in [SPEC.genesis_hash, *(tip.hash for tip in tips_of(nodes))]
        branch = next(each for each in branches if not number or each[number].hash == view.head.hash)
        for below in range(1, number + 1):
            rows = (view.header(below), view.body(below), view.receipts(below))
            assert rows == branch[below].rows
        if writer:
            assert chain.state.committed_head == (number, view.head.hash)


@pytest.mark.slow
def test_kills_at_random_moments_leave_the_head_before_or_after(tmp_path: Path) -> None:
    nodes, chance = random_tree(9, [2, 1, 1, 1, 1, 1]), random.Random(9)
    (tmp_path / "genesis.json").write_bytes(GENESIS)
    files = []
    for place, node in enumerate(nodes):
        files.append(tmp_path / f"{place:03}.rlp")
        files[-1].write_bytes(node.encoded)
    arguments = [str(tmp_path / "chain"), str(tmp_path / "genesis.json"), *map(str, files)]
    for _ in range(KILLS):
        command = [sys.executable, "-c", SWITCHING, *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0, MAX_RUN_SECONDS))
            process.kill()
        for writer in (False, True):
            check_opened(tmp_path / "chain", nodes, writer=writer)
    with Chain.open(tmp_path / "chain", writer=True) as chain:
        tree = BlockTree(chain)
        for node in nodes:
            assert isinstance(tree.judge(decoded(node.encoded)), ValidBlock)
        tree.set_head(nodes[-1].hash)
        assert chain.head.hash == nodes[-1].hash


@pytest.mark.slow
@pytest.mark.parametrize("switches", [100, pytest.param(1000, marks=pytest.mark.nightly)])
def test_other_processes_see_the_head_before_a_switch_or_after_it(tmp_path: Path, switches: int) -> None:
    nodes = random_tree(9, [2, 1, 1, 1, 1, 1])
    tips = tips_of(nodes)
    with Chain.open(tmp_path, GENESIS, writer=True, durable=False) as chain:
        tree = BlockTree(chain)
        judged(tree, nodes)
        tree.set_head(tips[0].hash)
        with watched_heads(tmp_path) as seen:
            for number in range(1, switches + 1):
                tree.set_head(tips[number % len(tips)].hash)
    assert seen <= {tip.hash for tip in tips}
