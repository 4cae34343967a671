"""Blocks of upstreams proved by their hashes, with the classes that they name."""

from collections.abc import Sequence
from functools import partial
from typing import Final

import trio

from wsnode.starknet.block import UnverifiedStarknetBlock, VerifiedStarknetBlock, version_numbers
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.classes.definition import ContractClass
from wsnode.starknet.errors import InvalidStarknetBlockError
from wsnode.starknet.felt import felt_text
from wsnode.starknet.verification import Head, verify
from wsnode.sync.follow.blocks.any_upstream import all_at_once
from wsnode.sync.follow.upstream import PeerError, Upstream
from wsnode.sync.starknet.client import WITH_COMMITMENTS, fetch_class
from wsnode.upstream.errors import UpstreamError

CLASSES_AT_ONCE: Final = 8
MIGRATING: Final = (0, 14, 1)
"""From that protocol version on blocks may have migrated classes."""
NO_MIGRATED: Final = "the upstream's RPC 0.9 has no migrated classes; use its 0.10 path"


class BlockVerifier:
    """Verifies what upstreams tell of the blocks of one chain."""

    def __init__(self, chain: StarknetChain, chain_id: str) -> None:
        self._chain = chain
        self.chain_id = chain_id
        self._room = trio.CapacityLimiter(CLASSES_AT_ONCE)

    async def prove(self, upstream: Upstream, block: UnverifiedStarknetBlock) -> VerifiedStarknetBlock:
        """Return a block of an upstream, recomputed up to its hash; its parent is looked at by `link`.

        Raises:
            PeerError: Its hash proves something else.
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
        """Check that a block follows its parent: their numbers and roots, and that what it deploys is new.

        Raises:
            PeerError: It does not, so its state update is of another block.
        """
        number, parent_hash, root = parent
        if block.number != number + 1:
            raise PeerError(f"it sent an invalid block: block {block.number} follows block {number}")
        if block.old_root != root:
            told = f"{felt_text(block.old_root)}, and block {number} has {felt_text(root)}"
            raise PeerError(f"it sent an invalid block: block {block.number}: old_root is {told}")
        with self._chain.snapshot() as view:
            # What is deployed on another branch says nothing of this one.
            is_stored = view.number_of(parent_hash) is not None
            deployed = block.diff.deployed if is_stored else []
            again = [address for address, _ in deployed if view.class_hash_at(address, number)]
        if again:
            why = f"{felt_text(again[0])} is deployed a second time"
            raise PeerError(f"it sent an invalid block: block {block.number}: {why}")

    async def fetch_classes(
        self, upstream: Upstream, block: VerifiedStarknetBlock
    ) -> Sequence[ContractClass]:
        """Return the classes that a block names and the store lacks.

        Raises:
            PeerError: One of them is another class.
            UpstreamError: The upstream does not have one.
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
