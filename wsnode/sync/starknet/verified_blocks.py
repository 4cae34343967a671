"""Verification of upstreams' blocks and classes, and verified blocks that are not stored yet."""

from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec
import trio

from wsnode.ethereum.head import Head as BlockHead
from wsnode.starknet.block import UnverifiedStarknetBlock, VerifiedStarknetBlock, version_numbers
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.classes.definition import ContractClass
from wsnode.starknet.errors import InvalidStarknetBlockError
from wsnode.starknet.felt import ZERO, felt_text
from wsnode.starknet.snapshot import StarknetSnapshot
from wsnode.starknet.verification import Head, verify
from wsnode.sync.follow.blocks.any_upstream import all_at_once
from wsnode.sync.follow.fork_choice import Path
from wsnode.sync.follow.upstream import PeerError, Upstream
from wsnode.sync.starknet.client import WITH_COMMITMENTS, fetch_class
from wsnode.sync.starknet.replies import StarknetHead, head_at
from wsnode.upstream.errors import UpstreamError

CLASSES_AT_ONCE: Final = 8
MIGRATING: Final = (0, 14, 1)
"""First protocol version whose blocks may have migrated classes."""
NO_MIGRATED: Final = "the upstream's RPC 0.9 has no migrated classes; use its 0.10 path"


class BlockVerifier:
    """Verifier of upstreams' blocks and classes of one chain."""

    def __init__(self, chain: StarknetChain, chain_id: str) -> None:
        self._chain = chain
        self.chain_id = chain_id
        self._room = trio.CapacityLimiter(CLASSES_AT_ONCE)

    async def prove(self, upstream: Upstream, block: UnverifiedStarknetBlock) -> VerifiedStarknetBlock:
        """Verify a block against its own hash and return it; `link` checks its parent.

        Raises:
            PeerError: The block's members do not give its hash, or the hash cannot be recomputed.
        """
        check = partial(verify, block, None, None, self._never, self.chain_id)
        try:
            proved = await trio.to_thread.run_sync(check)
        except InvalidStarknetBlockError as error:
            raise self._refused(upstream, block, str(error)) from None
        if proved.body is None:
            raise self._refused(upstream, block, f"block {block.number}: its hash cannot be recomputed")
        return proved

    def _never(self, _address: bytes) -> bool:
        return False

    def link(self, block: VerifiedStarknetBlock, parent: Head) -> None:
        """Check that a block follows its parent: numbers, state roots, and no contract deployed again.

        `parent` is number, hash and state root. Contracts are checked only if the parent is stored.

        Raises:
            PeerError: The block does not follow its parent, so its state update is of another block.
        """
        number, parent_hash, root = parent
        if block.number != number + 1:
            raise PeerError(f"it sent an invalid block: block {block.number} follows block {number}")
        if block.old_root != root:
            told = f"{felt_text(block.old_root)}, and block {number} has {felt_text(root)}"
            raise PeerError(f"it sent an invalid block: block {block.number}: old_root is {told}")
        with self._chain.snapshot() as view:
            # Deployments on the stored chain say nothing about a block on another branch.
            is_stored = view.number_of(parent_hash) is not None
            deployed = block.diff.deployed if is_stored else []
            again = [address for address, _ in deployed if view.class_hash_at(address, number)]
        if again:
            why = f"{felt_text(again[0])} is deployed a second time"
            raise PeerError(f"it sent an invalid block: block {block.number}: {why}")

    async def fetch_classes(
        self, upstream: Upstream, block: VerifiedStarknetBlock
    ) -> Sequence[ContractClass]:
        """Fetch and return the classes of a block that are not stored.

        Raises:
            PeerError: The upstream sent another class, or a malformed one.
            UpstreamError: The upstream does not have a class.
        """
        with self._chain.snapshot() as view:
            lacking = [each for each in block.diff.named_classes() if not view.has_class(each)]

        async def fetch(class_hash: bytes) -> ContractClass:
            async with self._room:
                return await fetch_class(upstream, block.hash, class_hash)

        try:
            return await all_at_once(lacking, fetch)
        except UpstreamError as error:
            if error.reason == "invalid":
                raise PeerError(f"it sent an invalid class: {error.detail}") from None
            raise

    def _refused(self, upstream: Upstream, block: UnverifiedStarknetBlock, why: str) -> PeerError:
        upstream.client.score.failed()
        version = version_numbers(block.header.version)
        if upstream.interface_version < WITH_COMMITMENTS and version is not None and version >= MIGRATING:
            why = f"{why}; {NO_MIGRATED}"
        return PeerError(f"it sent an invalid block: {why}")


MAX_BLOCKS: Final = 1024
MAX_BYTES: Final = 256 << 20
"""Maximum number of bytes of bodies and classes held in memory until enough upstreams have their blocks."""
NOWHERE: Final = -1
"""Number before block 0: the root of a path to a chain's first block."""


class VerifiedSideBlock(msgspec.Struct, frozen=True):
    """Block held in memory, proved by its hash, with those of its classes that are not stored."""

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
    """Verified blocks held in memory by hash, which are not on the stored chain."""

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
