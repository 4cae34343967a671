"""Verified blocks that are not stored, and the paths from the stored chain to them."""

from collections.abc import Sequence
from typing import Final

import msgspec

from wsnode.ethereum.head import Head as BlockHead
from wsnode.starknet.block import VerifiedStarknetBlock
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.classes.definition import ContractClass
from wsnode.starknet.felt import ZERO
from wsnode.starknet.snapshot import StarknetSnapshot
from wsnode.starknet.verification import Head
from wsnode.sync.follow.fork_choice import Path
from wsnode.sync.starknet.replies import StarknetHead, head_at
from wsnode.upstream.errors import UpstreamError

MAX_BLOCKS: Final = 1024
MAX_BYTES: Final = 256 << 20
"""Maximum number of bytes of bodies and classes held in memory until enough upstreams have their blocks."""
NOWHERE: Final = -1
"""Number before block 0: the root of a path to a chain's first block."""


class VerifiedSideBlock(msgspec.Struct, frozen=True):
    """Block proved by its hash, with those of its classes that are not stored."""

    block: VerifiedStarknetBlock
    classes: Sequence[ContractClass] = ()
    is_first: bool = False
    """True if a light folder may begin with this block."""

    @property
    def head(self) -> StarknetHead:
        return head_at(self.block.number, self.block.hash)

    @property
    def bytes(self) -> int:
        """Return the memory of body and classes, in bytes; the rest is small."""
        return len(self.block.body or b"") + sum(len(each.rendered) for each in self.classes)


class StarknetSideBlocks:
    """Verified blocks that are not stored, by their hash."""

    def __init__(self, chain: StarknetChain) -> None:
        self._chain = chain
        self._beside: dict[bytes, VerifiedSideBlock] = {}
        self._bytes = 0

    def add(self, proved: VerifiedSideBlock) -> None:
        """Hold a block in memory.

        Raises:
            UpstreamError: `busy`: `MAX_BLOCKS` or `MAX_BYTES` are held, since upstreams do not agree.
        """
        if len(self._beside) >= MAX_BLOCKS or self._bytes + proved.bytes > MAX_BYTES:
            raise UpstreamError(
                "busy",
                f"no memory for another block: {len(self._beside)} wait for upstreams that agree on them",
            )
        if self._beside.setdefault(proved.block.hash, proved) is proved:
            self._bytes += proved.bytes

    def forget(self, block_hash: bytes) -> None:
        """Forget a block that breaks a rule, and its descendants."""
        for proved in list(self._beside.values()):
            if proved.block.header.parent_hash == block_hash and proved.block.hash in self._beside:
                self.forget(proved.block.hash)
        self.drop(block_hash)

    def forget_below(self, number: int) -> None:
        """Forget the blocks up to `number`: they are too old to join the chain."""
        for block_hash in [each for each, proved in self._beside.items() if proved.block.number <= number]:
            self.drop(block_hash)

    def drop(self, block_hash: bytes) -> None:
        """Forget one block, if it is held."""
        if (proved := self._beside.pop(block_hash, None)) is not None:
            self._bytes -= proved.bytes

    def find(self, block_hash: bytes) -> Head | None:
        """Return number, hash and state root of a block that is stored or held, or None for another hash."""
        if (proved := self._beside.get(block_hash)) is not None:
            return proved.block.number, proved.block.hash, proved.block.new_root
        with self._chain.snapshot() as view:
            number = view.number_of(block_hash)
            row = None if number is None else view.block(number)
        return None if number is None or row is None else (number, row.hash, row.new_root)

    def path_to(self, head: BlockHead) -> Path | None:
        """Return the path from the stored chain to a block, or None if the block or an ancestor is unknown.

        If the path begins with block 0, or with a block with which a folder may begin, its root is `NOWHERE`.
        """
        with self._chain.snapshot() as view:
            return self._path_in(view, head.hash)

    def _path_in(self, view: StarknetSnapshot, wanted: bytes) -> Path | None:
        beside: list[StarknetHead] = []
        while (number := view.number_of(wanted)) is None:
            if (proved := self._beside.get(wanted)) is None:
                return None
            beside.append(proved.head)
            parent = proved.block.header.parent_hash or ZERO
            if proved.block.number == 0 or (proved.is_first and not self._is_known(view, parent)):
                number = NOWHERE
                break
            wanted = parent
        return Path(number, tuple(reversed(beside)))

    def _is_known(self, view: StarknetSnapshot, block_hash: bytes) -> bool:
        return block_hash in self._beside or view.number_of(block_hash) is not None

    def blocks_of(self, path: Path) -> list[VerifiedSideBlock]:
        """Return the held blocks of a path, lowest first."""
        return [self._beside[head.hash] for head in path.beside]
