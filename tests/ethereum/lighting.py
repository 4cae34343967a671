"""A light folder whose blocks and receipts come from a full chain."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.ethereum.live.growing import GrowingChain, emitting_genesis
from tests.memory_transport import asking
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import BuiltBlock, UnverifiedBlock, block_from_rows, verify_with_receipts
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.common.light_view import LightView
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.jsonrpc.dispatcher import Dispatcher

WINDOW = 8


class Light:
    """A light folder, and the full chain that its blocks are from."""

    def __init__(self, chain: Chain, source: GrowingChain) -> None:
        self.chain = chain
        self.source = source
        self.has_lists = True
        """Whether blocks come with their access lists, if they have any."""
        self.tree = BlockTree(chain)
        self.ask = asking(Dispatcher(build_registry(chain), partial(LightView, chain)))
        self.ask_source = asking(Dispatcher(build_registry(source.chain), source.chain.snapshot))

    def unverified(self, block_hash: bytes) -> UnverifiedBlock:
        """Return a block of the source."""
        with self.source.chain.snapshot() as view:
            rows = view.block_rows(block_hash)
            assert rows is not None
            return block_from_rows(view.spec, *rows)

    def receipts(self, number: int) -> bytes:
        with self.source.chain.snapshot() as view:
            receipts = view.receipts(number)
            assert receipts is not None
            return receipts

    def told(self, number: int) -> BuiltBlock:
        """Return a canonical block of the source, verified by its receipts."""
        with self.source.chain.snapshot() as view:
            block_hash = view.hash_of(number)
            access_list = view.access_list_at(number) if self.has_lists else None
        assert block_hash is not None
        unverified, receipts = self.unverified(block_hash), self.receipts(number)
        verified = verify_with_receipts(self.chain.spec, unverified, receipts, access_list)
        assert isinstance(verified, BuiltBlock), str(verified)
        return verified

    def begin(self, number: int) -> None:
        """Begin with a block of the source."""
        self.chain.begin_at(self.told(number), 1)
        self.tree.reset()

    def follow(self) -> None:
        """Make the source's head the head."""
        with self.source.chain.snapshot() as source, self.chain.snapshot() as view:
            number = int(source.number)
            while (block_hash := source.hash_of(number)) and view.number_of(block_hash) is None:
                number -= 1
            last, head = source.number, Hash32(source.head.hash)
        assert self.chain.receipt_verified is not None
        for each in range(number + 1, last + 1):
            told = self.told(each)
            self.chain.receipt_verified.tell([told])
            self.tree.judge(self.unverified(told.hash))
        self.tree.set_head(head)

    def result(self, method: str, *params: Any) -> Any:
        return self.ask(method, *params)["result"]

    def error(self, method: str, *params: Any) -> Any:
        return self.ask(method, *params)["error"]


Opened = Callable[[], Light]


@contextmanager
def light_folder(
    folder: Path,
    source: GrowingChain,
    window: int = WINDOW,
    genesis: bytes | None = None,
    seconds: int | None = None,
) -> Iterator[Light]:
    """Open a new light folder; `genesis` is the source's, if it has one of its own.

    Its window has the blocks of some seconds too, if they are given.
    """
    kind = FolderKind(window, is_light=True, window_seconds=seconds)
    with Chain.open(folder, genesis or emitting_genesis(), writer=True, durable=False, kind=kind) as chain:
        yield Light(chain, source)
