"""A chain whose blocks hold the logs that a test names, and that can be taken back and grow another way."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.sync.forks import genesis
from wsnode.demo.genesis import development_genesis
from wsnode.ethereum.appender import Appender
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import block_from_rows
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.head import Head
from wsnode.ethereum.logs.filter import Log
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.state import BlockAttributes, sign_transaction
from wsnode.ethereum.state_fetchers import StateFetchers

SECRET = bytes.fromhex("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
SENDER = bytes.fromhex("f39fd6e51aad88f6f4ce6ab8827279cfffb92266")
EMITTERS = tuple(bytes([0xE0 + place]) * 20 for place in range(3))
TOPICS = tuple(bytes([place]) * 32 for place in range(1, 5))
LOG_GAS = 60_000
STORE_GAS = 300_000
"""Of a call that writes a new slot under Amsterdam's rules."""


def emitter_code() -> bytes:
    """Return the code of a contract whose calls make one log, with the words of the call as its topics."""
    targets = [36 + sum(7 + 3 * count for count in range(topics)) for topics in range(5)]
    code = b"".join(
        bytes((0x36, 0x60, 32 * topics, 0x14, 0x60, targets[topics], 0x57)) for topics in range(5)
    )
    code += b"\x00"
    for topics in range(5):
        loads = b"".join(bytes((0x60, 32 * topic, 0x35)) for topic in reversed(range(topics)))
        code += b"\x5b" + loads + bytes((0x60, 0, 0x60, 0, 0xA0 + topics, 0x00))
    return code


def emitting_genesis() -> bytes:
    content = json.loads(genesis(merged=True))
    code = {"balance": "0x0", "code": f"0x{emitter_code().hex()}"}
    content["alloc"] = {address.hex(): code for address in EMITTERS} | {
        SENDER.hex(): {"balance": hex(10**30)}
    }
    return json.dumps(content).encode()


def under_amsterdam(genesis: bytes) -> bytes:
    """Return a genesis with the same accounts, under the rules of Amsterdam: blocks have access lists."""
    accounts = {f"0x{address}": account for address, account in json.loads(genesis)["alloc"].items()}
    return development_genesis([], 0, 0, chain_id=1, fork="amsterdam", accounts=accounts)


class Block(msgspec.Struct, frozen=True):
    """A block of the model."""

    head: Head
    logs: Sequence[Log]


class GrowingChain:
    """The store, and beside it the model: the canonical blocks after the first one with their logs."""

    def __init__(self, chain: Chain, *, gas: int = LOG_GAS) -> None:
        """`gas` is that of each transaction."""
        self.chain = chain
        self.blocks: list[Block] = []
        self.fetchers: StateFetchers | None = None
        """What fetches values of the state that are not known."""
        self._first = header_fields(chain.spec.genesis_block().header).number
        self._gas = gas
        self._appender = Appender(chain)
        self.made = 0
        """Number of the last block made; its extra data, so chains at one number make equal blocks."""
        self._abandoned: dict[Hash32, tuple[Block, bytes, bytes]] = {}

    def go_on_with(self, chain: Chain) -> None:
        """Write to the same chain, opened again."""
        self.chain = chain
        self._appender = Appender(chain)

    def grow(self, logs: Sequence[Log] = ()) -> Head:
        """Add a block with these logs; no two blocks are equal."""
        parent = self._appender.tip
        self.made += 1
        header = header_fields(parent[0])
        attributes = BlockAttributes(
            timestamp=header.timestamp + 12,
            fee_recipient=bytes(20),
            prev_randao=bytes(32),
            gas_limit=header.gas_limit,
            parent_beacon_block_root=bytes(32),
            extra_data=self.made.to_bytes(8, "big"),
        )
        built, refused = self.chain.state.build_block(parent, attributes, self._transactions(logs))
        assert not refused
        return self._take(built.header, built.body, logs)

    def shrink(self, depth: int) -> list[Head]:
        """Take blocks off the end; return them, highest first."""
        kept = self.blocks[len(self.blocks) - depth :]
        with self.chain.snapshot() as view:
            for block in kept:
                rows = view.block_rows(block.head.hash)
                assert rows is not None
                self._abandoned[block.head.hash] = (block, *rows)
        del self.blocks[len(self.blocks) - depth :]
        dropped = self.chain.unwind(self._first + len(self.blocks))
        self._appender.reset()
        return dropped

    def reorganise(self, depth: int, blocks: Sequence[Sequence[Log]]) -> None:
        """Replace the last `depth` blocks by others."""
        self.shrink(depth)
        for logs in blocks:
            self.grow(logs)

    def return_to(self, branch: Sequence[Head]) -> None:
        """Put blocks that `shrink` took off, highest first, back on the chain."""
        for head in reversed(branch):
            block, header, body = self._abandoned[head.hash]
            self._take(header, body, block.logs)

    def patch(self, accounts: bytes) -> None:
        """Change accounts of the head's state, which are JSON in the form of state overrides."""
        self.chain.patch(accounts)

    def clear(self) -> None:
        """Begin again with the genesis block."""
        self.shrink(len(self.blocks))

    def _take(self, header: bytes, body: bytes, logs: Sequence[Log]) -> Head:
        extension = self._appender.extend([block_from_rows(self.chain.spec, header, body)])
        assert extension.error is None, str(extension.error)
        self._appender.store(self._appender.take_pending())
        self.blocks.append(Block(self._appender.head, tuple(logs)))
        return self._appender.head

    def _transactions(self, logs: Sequence[Log]) -> list[bytes]:
        head = self._appender.head
        account = self.chain.state.account(SENDER, (head.number, head.hash))
        assert account is not None
        return [
            sign_transaction(
                SECRET,
                chain_id=1,
                nonce=nonce,
                to=address,
                value=0,
                input=b"".join(topics),
                gas=self._gas,
                max_fee=10**15,
                max_priority_fee=1,
            )
            for nonce, (address, topics) in enumerate(logs, account[0])
        ]


@contextmanager
def growing_chain(folder: Path, genesis: bytes | None = None) -> Iterator[GrowingChain]:
    """Open a new chain with nothing but its genesis block, by default one whose contracts emit logs."""
    with Chain.open(folder, genesis or emitting_genesis(), writer=True, durable=False) as chain:
        yield GrowingChain(chain)
