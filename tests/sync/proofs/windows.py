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
from wsnode.demo.genesis import DEFAULT_FORK, development_genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import (
    BuiltBlock,
    UnverifiedBlock,
    decode_blocks,
    encode_json_receipts,
    verify_with_receipts,
)
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.node.services.proofs import proved, proving
from wsnode.node.views import opening
from wsnode.server.access.router import Network
from wsnode.sync.follow.upstream import PeerState, Upstream, Upstreams

WINDOW = 64


class Window:
    """A light folder with upstreams that are followed, and the chain that its blocks are from."""

    def __init__(self, chain: Chain, source: Playground, clients: Sequence[MemoryClient]) -> None:
        self.chain = chain
        self.source = source
        self.has_lists = True
        """Whether blocks come with their access lists."""
        upstreams = Upstreams([Upstream(str(client), client) for client in clients])
        for upstream in upstreams:
            upstream.standing = PeerState.FOLLOWED
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

    def follow(self, last: int | None = None) -> None:
        """Make a block of the source the head, by default its head."""
        branch: list[int] = []
        number = last = self.source.head if last is None else last
        while not self._has(number):
            branch.append(number)
            number -= 1
        assert self.chain.receipt_verified is not None
        for each in reversed(branch):
            unverified, told = self._told(each)
            self.chain.receipt_verified.tell([told])
            self._tree.judge(unverified)
        self._tree.set_head(Hash32(bytes.fromhex(self.source.block(last)["hash"][2:])))

    def _has(self, number: int) -> bool:
        block_hash = self.source.block(number)["hash"]
        with self.chain.snapshot() as view:
            return view.number_of(bytes.fromhex(block_hash[2:])) is not None

    def _told(self, number: int) -> tuple[UnverifiedBlock, BuiltBlock]:
        raw = self.source("debug_getRawBlock", hex(number))
        (block,), error = decode_blocks(self.chain.spec, [bytes.fromhex(raw[2:])])
        assert error is None
        receipts = json.dumps(self.source("eth_getBlockReceipts", hex(number))).encode()
        access_list = None
        if self.has_lists and block.access_list_hash is not None:
            access_list = bytes.fromhex(self.source("debug_getRawBlockAccessList", hex(number))[2:])
        told = verify_with_receipts(self.chain.spec, block, encode_json_receipts(receipts), access_list)
        assert isinstance(told, BuiltBlock), str(told)
        return block, told


@contextmanager
def window_of(
    folder: Path, source: Playground, genesis: bytes, clients: Sequence[MemoryClient], first: int = 1
) -> Iterator[Window]:
    """Open a new light folder at the head of a development chain, from a block on."""
    with Chain.open(
        folder, genesis, writer=True, durable=False, kind=FolderKind(WINDOW, is_light=True)
    ) as chain:
        window = Window(chain, source, clients)
        window.begin(first)
        window.follow()
        yield window


def genesis_of(balance: int, time: int, fork: str = DEFAULT_FORK) -> bytes:
    """Return the genesis of a playground."""
    return development_genesis([account.address for account in ACCOUNTS], balance, time, fork=fork)
