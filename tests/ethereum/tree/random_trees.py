"""Trees of random blocks: every block has several children, and each branch its own transactions."""

import copy
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from tests.sync.forks import RlpItem, encode
from tests.sync.random_chains import Traffic, random_genesis
from wsnode.demo.accounts import ACCOUNTS
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import UnverifiedBlock, decode_blocks, keccak256
from wsnode.ethereum.codec.rows import block_rlp
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.state import ChainSpec

FORK_SECONDS = 40
GENESIS = random_genesis(FORK_SECONDS)
SPEC = ChainSpec(GENESIS)


class Node(msgspec.Struct, frozen=True):
    """A block, by its RLP, and the rows that it must be stored in."""

    number: int
    hash: Hash32
    parent: Hash32
    encoded: bytes
    rows: tuple[bytes, bytes, bytes] | None
    """Header, body and receipts; None for an invalid block."""

    @property
    def block(self) -> UnverifiedBlock:
        """Return the block to be judged."""
        return decoded(self.encoded)


def decoded(encoded: bytes) -> UnverifiedBlock:
    """Return a block from its RLP."""
    blocks, error = decode_blocks(SPEC, [encoded])
    assert error is None, str(error)
    return blocks[0]


class TreeMaker:
    """Grows a tree in depth; only the branch that is grown is in the store."""

    def __init__(self, chain: Chain, chance: random.Random, sizes: list[int], transactions: int) -> None:
        self._chain = chain
        self._builder = BlockBuilder(chain)
        self._chance = chance
        self._sizes = sizes
        self._transactions = transactions
        self.nodes: list[Node] = []

    def grow(self, traffic: Traffic, depth: int) -> None:
        """Add children to the head, as many as `sizes` says for the depth, and theirs to each of them."""
        if depth == len(self._sizes):
            return
        for salt in range(self._sizes[depth]):
            own = copy.deepcopy(traffic)
            own.chance = self._chance
            self.nodes.append(self._made(own, salt))
            self.grow(own, depth + 1)
            self._builder.unwind(self._builder.tip.number - 1)

    def _made(self, traffic: Traffic, salt: int) -> Node:
        tip = self._builder.tip
        built = self._builder.append(
            [traffic.transaction() for _ in range(self._chance.randint(0, self._transactions))],
            timestamp=tip.timestamp + self._chance.randint(1, 20),
            fee_recipient=self._chance.choice(ACCOUNTS).address,
            salt=salt.to_bytes(2),
        )
        number = built.head.number
        with self._chain.snapshot() as view:
            header, body, receipts = view.header(number), view.body(number), view.receipts(number)
        assert header is not None
        assert body is not None
        assert receipts is not None
        rows = (header, body, receipts)
        return Node(number, built.head.hash, Hash32(tip.hash), block_rlp(header, body), rows)


def random_tree(seed: int, sizes: list[int], transactions: int = 4) -> list[Node]:
    """Return blocks, parents before their children; `sizes` is how many children a block has by its depth."""
    chance = random.Random(seed)
    with (
        TemporaryDirectory() as folder,
        Chain.open(Path(folder), GENESIS, writer=True, durable=False) as chain,
    ):
        maker = TreeMaker(chain, chance, sizes, transactions)
        maker.grow(Traffic(chance, chain.spec.chain_id), 0)
    return maker.nodes


PARENT, STATE_ROOT, NUMBER = 0, 3, 8
"""Places in a header."""


def spoiled(node: Node, parent: Hash32 | None = None, *, place: int = STATE_ROOT) -> Node:
    """Return a node with a wrong bit at a place in its header; or with nothing but another parent."""
    header, body, rest = parts(node.encoded)
    if parent is None:
        header[place] = bytes(header[place][:-1]) + bytes([header[place][-1] ^ 1])
    else:
        header[PARENT] = parent
    block_hash = Hash32(keccak256(encode(list[RlpItem](header))))
    encoded = assembled(header, body, rest)
    return Node(node.number, block_hash, Hash32(header[PARENT]), encoded, None)


def assembled(header: list[bytes], body: bytes, rest: bytes) -> bytes:
    """Return a block from the parts that `parts` returns."""
    return _listed(encode(list[RlpItem](header)) + body + rest)


def parts(encoded: bytes) -> tuple[list[bytes], bytes, bytes]:
    """Return the members of a block's header, its transactions as they are, and what follows them."""
    _, content, _ = _item(encoded)
    _, header, after = _item(content)
    fields = []
    while header:
        _, field, header = _item(header)
        fields.append(field)
    whole, _, rest = _item(after)
    return fields, whole, rest


def _item(encoded: bytes) -> tuple[bytes, bytes, bytes]:
    """Return the first item of some RLP, its content, and what follows it."""
    first = encoded[0]
    if first < 0x80:
        return encoded[:1], encoded[:1], encoded[1:]
    base = 0x80 if first < 0xC0 else 0xC0
    start, size = 1, first - base
    if size > 55:
        start, size = 1 + size - 55, int.from_bytes(encoded[1 : 1 + size - 55])
    return encoded[: start + size], encoded[start : start + size], encoded[start + size :]


def _listed(content: bytes) -> bytes:
    size = len(content)
    if size < 56:
        return bytes([0xC0 + size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([0xF7 + len(length)]) + length + content
