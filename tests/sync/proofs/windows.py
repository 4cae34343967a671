"""A light folder of a development chain, which proves its state: both in one process, nothing between."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.ethereum.development.forks import MemoryClient
from tests.ethereum.development.playground import Playground
from tests.memory_transport import asking
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import development_genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import (
    BuiltBlock,
    UnverifiedBlock,
    decode_blocks,
    encode_told_receipts,
    verify_told_block,
)
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.storage.kind import Kind
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.node.growth.proving import proved, proving
from wsnode.node.views import opening
from wsnode.server.access.directory import Network
from wsnode.sync.follow.upstream import Standing, Upstream, Upstreams

WINDOW = 64


class Window:
    """A light folder with upstreams that are followed, and the chain that its blocks are from."""

    def __init__(self, chain: Chain, source: Playground, clients: Sequence[MemoryClient]) -> None:
        self.chain = chain
        self.source = source
        upstreams = Upstreams([Upstream(str(client), client) for client in clients])
        for upstream in upstreams:
            upstream.standing = Standing.FOLLOWED
        self.supply = proving(chain, upstreams)
        network = Network("light", build_registry(chain), opening(chain, None, is_proved=True), ())
        self.network = proved(network, self.supply)
        self.reply = asking(Dispatcher(self.network.registry, self.network.open_view))
        self._tree = BlockTree(chain)

    def __call__(self, method: str, *params: Any) -> Any:
        return self.reply(method, *params)["result"]

    def error(self, method: str, *params: Any) -> Any:
        return self.reply(method, *params)["error"]

    def begin(self, number: int) -> None:
        """Begin with a block of the source."""
        self.chain.begin_at(self._told(number)[1], 1)
        self._tree.reset()

    def follow(self) -> None:
        """Make the source's head the head."""
        branch: list[int] = []
        number = self.source.head
        while not self._has(number):
            branch.append(number)
            number -= 1
        assert self.chain.told is not None
        for each in reversed(branch):
            unverified, told = self._told(each)
            self.chain.told.tell([told])
            self._tree.judge(unverified)
        self._tree.set_head(Hash32(bytes.fromhex(self.source.block()["hash"][2:])))

    def _has(self, number: int) -> bool:
        block_hash = self.source.block(number)["hash"]
        with self.chain.snapshot() as view:
            return view.number_of(bytes.fromhex(block_hash[2:])) is not None

    def _told(self, number: int) -> tuple[UnverifiedBlock, BuiltBlock]:
        raw = self.source("debug_getRawBlock", hex(number))
        (block,), error = decode_blocks(self.chain.spec, [bytes.fromhex(raw[2:])])
        assert error is None
        receipts = json.dumps(self.source("eth_getBlockReceipts", hex(number))).encode()
        told = verify_told_block(self.chain.spec, block, encode_told_receipts(receipts))
        assert isinstance(told, BuiltBlock), str(told)
        return block, told


@contextmanager
def window_of(
    folder: Path, source: Playground, genesis: bytes, clients: Sequence[MemoryClient], first: int = 1
) -> Iterator[Window]:
    """Open a new light folder at the head of a development chain, from a block on."""
    with Chain.open(folder, genesis, writer=True, durable=False, kind=Kind(WINDOW, is_light=True)) as chain:
        window = Window(chain, source, clients)
        window.begin(first)
        window.follow()
        yield window


def genesis_of(balance: int, time: int) -> bytes:
    """Return the genesis of a playground."""
    return development_genesis([account.address for account in ACCOUNTS], balance, time)
