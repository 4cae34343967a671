"""Verification of upstreams' blocks by their hashes, and fetch of their classes."""

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
