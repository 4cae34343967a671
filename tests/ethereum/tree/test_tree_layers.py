"""State read through blocks of which none is committed: accounts that go and come back, block hashes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sync.random_chains import GAS, created_address, creation, random_genesis
from wsnode.demo.accounts import ACCOUNTS
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import UnverifiedBlock, block_from_rows, keccak256
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.head import HeadChange
from wsnode.ethereum.state import sign_transaction
from wsnode.ethereum.tree.statuses import ValidBlock
from wsnode.ethereum.tree.tree import BlockTree

SHANGHAI = random_genesis(10**8)
"""Before Cancun a contract that destroys itself is gone with its storage."""
SENDER = ACCOUNTS[0]
GWEI = 10**9

FACTORY = bytes.fromhex("365f5f37" + "5f365f5f" + "f5" + "00")
"""CALLDATACOPY all of the input, and CREATE2 with it, without value or salt."""
COUNTER = bytes.fromhex("36601357" + "5f546001015f55" + "600143034043" + "5500" + "5b33ff")
"""With input it destroys itself; without, it counts in slot 0, and keeps its parent's hash by number."""


class Elsewhere:
    """A chain on which each block of the test is committed before the next one is built."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.builder = BlockBuilder(chain)
        self.nonce = 0

    def block(self, *calls: tuple[bytes | None, bytes], salt: bytes = b"") -> UnverifiedBlock:
        """Return a new block with these calls, or creations for those without a recipient."""
        transactions = [self._signed(to, content, place) for place, (to, content) in enumerate(calls)]
        self.nonce += len(calls)
        built = self.builder.append(
            transactions, timestamp=self.builder.tip.timestamp + 12, fee_recipient=bytes(20), salt=salt
        )
        assert not built.refused
        with self.chain.snapshot() as view:
            header, body = view.header(view.number), view.body(view.number)
        assert header is not None
        assert body is not None
        return block_from_rows(self.chain.spec, header, body)

    def _signed(self, to: bytes | None, content: bytes, place: int) -> bytes:
        return sign_transaction(
            SENDER.secret,
            chain_id=self.chain.spec.chain_id,
            nonce=self.nonce + place,
            to=to,
            value=0,
            input=content,
            gas=GAS,
            max_fee=100 * GWEI,
            max_priority_fee=GWEI,
        )


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Elsewhere]:
    with Chain.open(tmp_path / "elsewhere", SHANGHAI, writer=True, durable=False) as chain:
        yield Elsewhere(chain)


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[BlockTree]:
    with Chain.open(tmp_path / "chain", SHANGHAI, writer=True, durable=False) as chain:
        yield BlockTree(chain)


def test_an_account_that_goes_and_comes_back_begins_anew(elsewhere: Elsewhere, tree: BlockTree) -> None:
    factory = created_address(SENDER.address, 0)
    init = creation(COUNTER)
    mortal = keccak256(b"\xff" + factory + bytes(32) + keccak256(init))[12:]
    count, end = (mortal, b""), (mortal, b"\x01")
    blocks = [
        elsewhere.block((None, creation(FACTORY))),
        elsewhere.block((factory, init), count),
        elsewhere.block(count, count),
        elsewhere.block(count, end),
        elsewhere.block(),
        elsewhere.block((factory, init)),
        elsewhere.block(count),
        elsewhere.block(end, (mortal, b"")),
        elsewhere.block((factory, init), count, count),
    ]
    here, there = tree.chain.state, elsewhere.chain.state
    for block in blocks:
        assert isinstance(tree.judge(block), ValidBlock)
    assert isinstance(tree.set_head(blocks[-1].hash), HeadChange)
    head = (len(blocks), blocks[-1].hash)
    slots = here.slots(mortal, *head)
    assert slots == there.slots(mortal, *head)
    assert int.from_bytes(here.storage(mortal, bytes(32), head)) == 2
    assert len(slots) == 2
    assert here.state_root == there.state_root


def test_a_block_hash_is_that_of_the_own_branch(elsewhere: Elsewhere, tree: BlockTree) -> None:
    counter = created_address(SENDER.address, 0)
    first = elsewhere.block((None, creation(COUNTER)))
    main = [elsewhere.block((counter, b"")) for _ in range(4)]
    elsewhere.builder.unwind(1)
    elsewhere.nonce = 1
    branch = [elsewhere.block((counter, b""), salt=b"other") for _ in range(4)]
    for block in (first, *main):
        assert isinstance(tree.judge(block), ValidBlock)
    tree.set_head(main[-1].hash)
    for block in branch:
        assert isinstance(tree.judge(block), ValidBlock)
    tree.set_head(branch[-1].hash)
    head = (5, branch[-1].hash)
    for block in branch:
        kept = tree.chain.state.storage(counter, block.number.to_bytes(32), head)
        assert kept == block.parent_hash
