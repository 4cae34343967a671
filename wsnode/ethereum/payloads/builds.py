"""Builds of payloads: each begins with an empty block, and improves with the pool until it is fetched.

Source: execution-apis, src/engine/paris.md, "Payload building".
"""

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec
import trio

from wsnode.ethereum.building.gas_limit import GAS_LIMIT_TARGET, gas_limit_after
from wsnode.ethereum.building.next_block import named_sender
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import BuiltBlock, VerifiedBlock
from wsnode.ethereum.codec.rendering import render_receipts
from wsnode.ethereum.codec.rlp import block_transactions
from wsnode.ethereum.codec.rows import Rows, header_fields
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.payloads.payload import PayloadAttributes, PayloadFork, era_of
from wsnode.ethereum.pool.blobs import Blob
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.state import ReorganisedError


class PayloadBuild:
    """Build of one payload: the attributes from the consensus client, and the most valuable block built so
    far.
    """

    def __init__(self, parent: Rows, attributes: PayloadAttributes, gas_limit: int) -> None:
        self.parent = parent
        self.attributes = attributes
        self.gas_limit = gas_limit
        self.block: BuiltBlock | None = None
        self.value = 0
        """Proposer's gain from the block, in wei."""
        self.blobs: Sequence[Blob] = ()
        """Blobs of the block's transactions, in order."""
        self.pool_version = -1
        """Version of the pool when the block was built; -1 for an empty block."""
        self.is_begun = trio.Event()
        """Event set once there is a block, or none can be built."""
        self.is_full = trio.Event()
        """Event set once a block with the pool's transactions has been built, or the build has ended."""
        self.is_over = False

    def put(self, block: BuiltBlock, pool_version: int, blobs: Sequence[Blob]) -> None:
        """Keep a built block, unless the present one earns the proposer more."""
        value = block_value(block)
        if self.block is None or value >= self.value:
            self.block, self.value, self.blobs = block, value, blobs
        self.pool_version = pool_version

    def end(self) -> None:
        self.is_over = True
        self.is_begun.set()
        self.is_full.set()


def block_value(block: VerifiedBlock) -> int:
    """Return the proposer's gain from a block, in wei: the tips of its transactions."""
    base_fee = header_fields(block.header).base_fee or 0
    receipts = msgspec.json.decode(render_receipts(block.header, block.body, block.receipts))
    gains = ((int(receipt["gasUsed"], 16), int(receipt["effectiveGasPrice"], 16)) for receipt in receipts)
    return sum(gas * (price - base_fee) for gas, price in gains)


MAX_BUILDS: Final = 10
"""Maximum number of builds kept, as in geth (eth/catalyst/queue.go, maxTrackedPayloads)."""
PAUSE_SECONDS: Final = 0.5
"""Seconds between two checks of the pool for changes."""
SLOT_SECONDS: Final = 12
"""Seconds after its timestamp for which a payload is improved."""
FULL_SECONDS: Final = 0.5
"""Seconds that a fetch waits for a payload's first transactions; consensus clients wait one second."""

logger = logging.getLogger("wsnode.engine")


class PayloadBuilds:
    """Builds that a consensus client began, by payload id."""

    def __init__(
        self,
        chain: Chain,
        pool: TransactionPool,
        *,
        gas_limit: int = GAS_LIMIT_TARGET,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Begin; the gas limit of payloads moves towards `gas_limit`."""
        self._chain = chain
        self._pool = pool
        self._gas_limit = gas_limit
        self._clock = clock
        self._builds: dict[bytes, PayloadBuild] = {}
        self._has_begun = trio.Event()

    def begin(self, parent: bytes, attributes: PayloadAttributes, method_version: int) -> bytes:
        """Begin a build on a stored block, unless it has begun already, and return its payload id."""
        identity = attributes.identity(parent, method_version)
        if identity not in self._builds:
            with self._chain.snapshot() as view:
                rows = view.block_rows(parent)
            assert rows is not None, "payloads are built on the head"
            limit = header_fields(rows[0]).gas_limit
            target = self._gas_limit if attributes.target_gas_limit is None else attributes.target_gas_limit
            self._builds[identity] = PayloadBuild(rows, attributes, gas_limit_after(limit, target))
            while len(self._builds) > MAX_BUILDS:
                self._builds.pop(next(iter(self._builds))).end()
            self._has_begun.set()
        return identity

    def find(self, identity: bytes) -> PayloadBuild | None:
        return self._builds.get(identity)

    async def take(self, build: PayloadBuild) -> BuiltBlock | None:
        """End a build and return its best block, None if none could be built."""
        with trio.move_on_after(FULL_SECONDS):
            await build.is_full.wait()
        if build.block is None:
            await build.is_begun.wait()
        build.end()
        return build.block

    async def run(self) -> None:
        while True:
            self._has_begun = trio.Event()
            active = [build for build in self._builds.values() if self._is_active(build)]
            for build in active:
                await self._improve(build)
            with trio.move_on_after(PAUSE_SECONDS if active else float("inf")):
                await self._has_begun.wait()

    def _is_active(self, build: PayloadBuild) -> bool:
        if build.is_over:
            return False
        return not build.is_full.is_set() or self._clock() <= build.attributes.timestamp + SLOT_SECONDS

    async def _improve(self, build: PayloadBuild) -> None:
        try:
            if build.block is None:
                build.put(await self._built(build, []), -1, [])
            version = self._pool.version
            if build.pool_version != version:
                await self._fill(build, version)
        except ReorganisedError:
            # The build's parent is no longer the head, so no consensus client will request the payload.
            build.end()
        except Exception:
            logger.exception("a payload cannot be improved; its build is ended")
            build.end()
        finally:
            build.is_begun.set()

    async def _fill(self, build: PayloadBuild, version: int) -> None:
        block, blobs = await self._filled(build)
        if not build.is_over:
            build.put(block, version, blobs)
            build.is_full.set()

    async def _filled(self, build: PayloadBuild) -> tuple[BuiltBlock, list[Blob]]:
        """Return a block with the pool's transactions, and the blobs of its transactions in order."""
        candidates = self._pool.executable(gas_limit=build.gas_limit)
        blobs = {each.encoded: self._blobs_of(each) for each in candidates}
        # A transaction without its blobs is left out, since its proofs could not be delivered with the
        # payload.
        chosen = [each for each in candidates if len(blobs[each.encoded]) == len(each.blob_hashes)]
        block = await self._built(build, chosen)
        kept = [blob for each in block_transactions(block.header, block.body) for blob in blobs[each]]
        by_cells = era_of(self._chain.spec, build.attributes.timestamp) >= PayloadFork.OSAKA
        return block, [await self._proved(blob, by_cells=by_cells) for blob in kept]

    async def _proved(self, blob: Blob, *, by_cells: bool) -> Blob:
        if blob.has_cell_proofs == by_cells:
            return blob
        proved = await trio.to_thread.run_sync(partial(blob.proved, by_cells=by_cells))
        if self._pool.blobs is not None:
            self._pool.blobs.replace(proved)
        return proved

    def _blobs_of(self, transaction: PooledTransaction) -> list[Blob]:
        if self._pool.blobs is None:
            return []
        found = map(self._pool.blobs.get, transaction.blob_hashes)
        return [blob for blob in found if blob is not None]

    async def _built(self, build: PayloadBuild, transactions: list[PooledTransaction]) -> BuiltBlock:
        decided = build.attributes.decided(build.gas_limit)
        encoded = [transaction.encoded for transaction in transactions]
        senders = list(map(named_sender, transactions))
        state = self._chain.state
        block, _refused = await trio.to_thread.run_sync(
            lambda: state.build_block(build.parent, decided, encoded, senders=senders)
        )
        return block
