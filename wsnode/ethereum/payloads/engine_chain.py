"""A chain whose head a consensus client chooses: payloads are judged as they come, and stay beside the head.

Source: execution-apis, src/engine/paris.md, "Payload validation" and "engine_forkchoiceUpdatedV1".
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, TypeAlias

import msgspec
import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import Payload, UnverifiedBlock
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.head import HeadChange
from wsnode.ethereum.payloads.fifo_lock import FifoLock
from wsnode.ethereum.payloads.orphan_blocks import OrphanBlocks
from wsnode.ethereum.payloads.status import (
    ACCEPTED,
    BEFORE_THE_MERGE,
    SYNCING,
    PayloadStatus,
    invalid,
    valid,
)
from wsnode.ethereum.primitives.values import Hash32, hexadecimal
from wsnode.ethereum.state import InvalidBlockError
from wsnode.ethereum.tree.head_writer import STORE_FAILURES, LiveTree, in_thread
from wsnode.ethereum.tree.statuses import (
    BelowFinalizedError,
    DeferredBlock,
    InvalidBlock,
    UnknownForkchoiceBlockError,
    UnknownParentBlock,
    ValidBlock,
)

COMING_SECONDS: Final = 1.0
"""How long a call waits for blocks that are being fetched; consensus clients wait eight seconds for it."""
MOST_MALFORMED: Final = 1024
_OF_THE_HASH: Final = "block_hash"

logger = logging.getLogger("wsnode.engine")


Want: TypeAlias = Callable[[Hash32], trio.Event | None]
"""Called with the hash of a block that a payload or a fork choice needs, and that is unknown; returns at once
what is set when the block is there or cannot be had."""


class StorageUnavailableError(Exception):
    """The chain cannot be read or written now: its disk is full, failing or damaged. Later it may be."""


class ForkchoiceError(Exception):
    """What is, or is to be, safe or finalized is not on the chain of what is to be the head."""


class PayloadSidecar(msgspec.Struct, frozen=True, kw_only=True):
    """What is given beside a payload since Cancun, and since Prague."""

    blob_hashes: Sequence[bytes] | None = None
    parent_beacon_block_root: bytes | None = None
    requests: Sequence[bytes] | None = None


class MalformedPayload(msgspec.Struct, frozen=True):
    """What is remembered of a payload that no block can be made of, and of what follows it."""

    parent: bytes
    """The payload's."""
    error: str


class EngineChain:
    """Judges payloads and moves the head as a consensus client asks; callers keep the order of `line`."""

    def __init__(self, chain: Chain, tree: LiveTree, want: Want | None = None) -> None:
        """`want` has blocks fetched; without it they come from the consensus client alone."""
        self._chain = chain
        self._tree = tree
        self._want = want or _leave
        self._coming: trio.Event | None = None
        """Of the block that was wanted last."""
        self._waiting = OrphanBlocks()
        self._malformed: dict[bytes, MalformedPayload] = {}
        """By the hashes of payloads and blocks; those that came last."""
        self.line = FifoLock()
        self.statuses = Counter[str]()
        """How many payloads were answered with each status."""
        self.is_unstored = False
        """Whether the last change could not be stored."""
        self.replaced = 0
        """Blocks that left the canonical chain."""

    @property
    def waiting(self) -> int:
        """Return how many payloads wait for their ancestors."""
        return len(self._waiting)

    async def take(self, payload: Payload, beside: PayloadSidecar) -> PayloadStatus:
        """Return what a payload is; what of it can be checked without its parent always is.

        Raises:
            StorageUnavailableError: A store cannot be read, or written.
        """
        with self._storing():
            status = await self._take(payload, beside)
        self.statuses[status.status] += 1
        return status

    async def _take(self, payload: Payload, beside: PayloadSidecar) -> PayloadStatus:
        read = partial(
            payload.block,
            self._chain.spec,
            parent_beacon_block_root=beside.parent_beacon_block_root,
            requests=beside.requests,
        )
        block = await in_thread(read)
        if isinstance(block, InvalidBlockError):
            return self._refused(payload, block)
        if beside.blob_hashes is not None and block.blob_hashes != list(beside.blob_hashes):
            return _logged(block.hash, invalid(None, "the payload has other blobs than expected"))
        status = await self._judge(block)
        if status is SYNCING and await self._has_come():
            status = await self._judge(block)
        return status

    async def choose(self, head: Hash32, safe: Hash32 | None, finalized: Hash32 | None) -> PayloadStatus:
        """Make a block the head, and others safe and finalized, if all that is needed is known.

        Raises:
            ForkchoiceError: They do not fit each other.
            StorageUnavailableError: A store cannot be read, or written; the chain is as before, or ends at
                the last block that both branches have.
        """
        with self._storing():
            status = await self._choose(head, safe, finalized)
            if status is SYNCING and await self._has_come():
                status = await self._choose(head, safe, finalized)
        self.is_unstored &= status.status != "VALID"
        return status

    def not_ready_reason(self) -> str | None:
        """Return why this node should not be asked now, None unless blocks cannot be stored."""
        return "blocks cannot be stored" if self.is_unstored else None

    @contextmanager
    def _storing(self) -> Iterator[None]:
        try:
            yield
        except STORE_FAILURES as error:
            if not self.is_unstored:
                logger.error("blocks cannot be stored: %s", error)  # noqa: TRY400 - no bug of ours
            self.is_unstored = True
            raise StorageUnavailableError from error

    async def _choose(self, head: Hash32, safe: Hash32 | None, finalized: Hash32 | None) -> PayloadStatus:
        if (known := self._malformed.get(head)) is not None:
            return self._status_of(known)
        if (waiting := self._waiting.get(head)) is not None:
            status = await self._judge(waiting)
            if status.status not in ("VALID", "ACCEPTED"):
                return status
        if self._is_final(head):
            # The only heads that the specification lets a client pass over.
            return valid(head)
        try:
            change = await self._tree.set_head(head, safe=safe, finalized=finalized, keeps_final=True)
        except UnknownForkchoiceBlockError as error:
            if error.name == "head":
                self._coming = self._want(head)
                return SYNCING
            raise ForkchoiceError(str(error)) from None
        except BelowFinalizedError as error:
            raise ForkchoiceError(f"the head {error}") from None
        if isinstance(change, InvalidBlock):
            return self._invalid(head, change)
        self.replaced += len(change.removed)
        _log_change(change)
        return valid(head)

    async def _has_come(self) -> bool:
        """Wait a moment for what is being fetched, and tell whether that is over."""
        coming, self._coming = self._coming, None
        if coming is None:
            return False
        with trio.move_on_after(COMING_SECONDS):
            await coming.wait()
        return coming.is_set()

    async def _judge(self, block: UnverifiedBlock) -> PayloadStatus:
        """Return what a block is, after those below it that waited for their ancestors too."""
        status = SYNCING
        for each in self._waiting.line_to(block):
            status = await self._judge_one(each)
            if status is SYNCING:
                self._waiting.add(block)
                self._coming = self._want(Hash32(each.parent_hash))
                break
            self._waiting.pop(each.hash)
        return status

    async def _judge_one(self, block: UnverifiedBlock) -> PayloadStatus:
        if (below := self._malformed.get(block.parent_hash)) is not None:
            return self._remember(block.hash, below)
        match await self._tree.judge(block):
            case ValidBlock():
                return valid(block.hash)
            case DeferredBlock():
                return ACCEPTED
            case UnknownParentBlock():
                return SYNCING
            case InvalidBlock() as status:
                return self._invalid(block.hash, status)

    def _invalid(self, block_hash: bytes, status: InvalidBlock) -> PayloadStatus:
        return _logged(block_hash, invalid(self._named(status.latest_valid), str(status.error)))

    def _refused(self, payload: Payload, error: InvalidBlockError) -> PayloadStatus:
        if error.rule == _OF_THE_HASH:
            # It says nothing of the block that has this hash.
            return _logged(payload.block_hash, invalid(None, str(error)))
        below = self._malformed.get(payload.parent_hash)
        malformed = MalformedPayload(payload.parent_hash if below is None else below.parent, str(error))
        return _logged(payload.block_hash, self._remember(payload.block_hash, malformed))

    def _remember(self, block_hash: bytes, malformed: MalformedPayload) -> PayloadStatus:
        self._malformed[block_hash] = malformed
        if len(self._malformed) > MOST_MALFORMED:
            del self._malformed[next(iter(self._malformed))]
        return self._status_of(malformed)

    def _status_of(self, malformed: MalformedPayload) -> PayloadStatus:
        # The parent may have come since.
        return invalid(self._named(malformed.parent), malformed.error)

    def _named(self, block_hash: bytes) -> bytes | None:
        """Return how the last valid block up to one is named in a status, None if it is not known."""
        if (refused := self._tree.tree.refusal(block_hash)) is not None:
            return self._named(refused.latest_valid)
        if (header := self._tree.tree.header(block_hash)) is None:
            return None
        return block_hash if header_fields(header).difficulty == 0 else BEFORE_THE_MERGE

    def _is_final(self, block_hash: bytes) -> bool:
        """Tell whether a block is canonical and below the finalized one."""
        with self._chain.snapshot() as view:
            number, finalized = view.number_of(block_hash), view.finalized
        return number is not None and finalized is not None and number < finalized


def _leave(_block_hash: Hash32) -> None:
    """Leave it to the consensus client to send what is needed."""


def _logged(block_hash: bytes, status: PayloadStatus) -> PayloadStatus:
    logger.warning("payload %s is invalid: %s", hexadecimal(block_hash), status.validation_error)
    return status


def _log_change(change: HeadChange) -> None:
    if change.removed:
        logger.info("%d blocks replaced by %d", len(change.removed), len(change.added))
    if change.added:
        logger.info("head %s", change.added[-1])
