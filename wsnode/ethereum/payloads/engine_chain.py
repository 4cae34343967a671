"""Chain under control of a consensus client: payloads are verified as they come, and kept beside the head.

Source: execution-apis, src/engine/paris.md, "Payload validation" and "engine_forkchoiceUpdatedV1".
"""

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Final, Self, TypeAlias

import msgspec
import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import Payload, UnverifiedBlock
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.head import HeadChange
from wsnode.ethereum.payloads.payload import (
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


class FifoLock:
    """Lock given to tasks in the order in which they joined its queue of tickets."""

    def __init__(self) -> None:
        self._places = deque[LockTicket]()

    def join(self) -> "LockTicket":
        place = LockTicket(self._places)
        self._places.append(place)
        return place


class LockTicket:
    """Place in the queue of a `FifoLock`; the end of its `with` block gives up the place, or the lock."""

    def __init__(self, places: "deque[LockTicket]") -> None:
        self._places = places
        self._is_first = trio.Event()
        if not places:
            self._is_first.set()

    async def wait_turn(self) -> None:
        await self._is_first.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._places.remove(self)
        if self._places:
            self._places[0]._is_first.set()


MAX_BLOCKS: Final = 512
MAX_BYTES: Final = 64 << 20


class OrphanBlocks:
    """Blocks with an unknown parent, by hash, kept until the parent arrives; the oldest are dropped beyond
    the bounds.
    """

    def __init__(self) -> None:
        self._blocks: dict[bytes, UnverifiedBlock] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._blocks)

    def add(self, block: UnverifiedBlock) -> None:
        self.pop(block.hash)
        self._blocks[block.hash] = block
        self._bytes += _size(block)
        while len(self._blocks) > MAX_BLOCKS or self._bytes > MAX_BYTES:
            self.pop(next(iter(self._blocks)))

    def get(self, block_hash: bytes) -> UnverifiedBlock | None:
        return self._blocks.get(block_hash)

    def pop(self, block_hash: bytes) -> None:
        """Remove a block, if it waits."""
        block = self._blocks.pop(block_hash, None)
        if block is not None:
            self._bytes -= _size(block)

    def line_to(self, block: UnverifiedBlock) -> list[UnverifiedBlock]:
        """Return a block preceded by its waiting ancestors, lowest first."""
        line = [block]
        while (below := self._blocks.get(line[-1].parent_hash)) is not None:
            line.append(below)
        return line[::-1]


def _size(block: UnverifiedBlock) -> int:
    # The block's rows, and as much again for the objects that were decoded from them.
    return 2 * (len(block.header) + len(block.body))


COMING_SECONDS: Final = 1.0
"""Seconds that a call waits for blocks being fetched; consensus clients wait eight for the call."""
MAX_MALFORMED: Final = 1024
_OF_THE_HASH: Final = "block_hash"

logger = logging.getLogger("wsnode.engine")


Want: TypeAlias = Callable[[Hash32], trio.Event | None]
"""Function called with the hash of an unknown block that is needed. It returns immediately: an event set when
the block has come or cannot be fetched, or None.
"""


class StorageUnavailableError(Exception):
    """Error: the chain cannot be read or written now, because its disk is full, failing or damaged."""


class ForkchoiceError(Exception):
    """Error: the safe or the finalized block is not on the chain of the new head."""


class PayloadSidecar(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of engine_newPayload beside the payload: blob hashes and parent beacon block's root (since
    Cancun), execution requests (since Prague); None before.
    """

    blob_hashes: Sequence[bytes] | None = None
    parent_beacon_block_root: bytes | None = None
    requests: Sequence[bytes] | None = None


class MalformedPayload(msgspec.Struct, frozen=True):
    """Record of a payload that could not be decoded as a block: its parent hash, and the error, returned for
    it and its descendants.
    """

    parent: bytes
    """Parent hash of the payload."""
    error: str


class EngineChain:
    """Chain as the Engine API controls it: executes payloads, and sets the head of a forkchoice update. Calls
    hold the lock `line` in the order of arrival.
    """

    def __init__(self, chain: Chain, tree: LiveTree, want: Want | None = None) -> None:
        """Make the chain; `want` fetches blocks, None if only the consensus client sends them."""
        self._chain = chain
        self._tree = tree
        self._want = want or _leave
        self._coming: trio.Event | None = None
        """Event of the block that was wanted last."""
        self._waiting = OrphanBlocks()
        self._malformed: dict[bytes, MalformedPayload] = {}
        """Malformed payloads by the hashes of payloads and blocks; the latest are kept."""
        self.line = FifoLock()
        self.statuses = Counter[str]()
        """Number of payloads answered, by status."""
        self.is_unstored = False
        """True if the last change could not be stored."""
        self.replaced = 0
        """Number of blocks that left the canonical chain."""

    @property
    def waiting(self) -> int:
        """Return the number of payloads that wait for their ancestors."""
        return len(self._waiting)

    async def take(self, payload: Payload, beside: PayloadSidecar) -> PayloadStatus:
        """Verify a payload and return its status; rules that need no parent are always checked.

        Raises:
            StorageUnavailableError: A store cannot be read or written.
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
        """Set the head, the safe and the finalized block if all needed blocks are known; return the status.

        Raises:
            ForkchoiceError: The blocks are not on one chain.
            StorageUnavailableError: A store cannot be read or written; the chain is unchanged, or ends at the
                last block common to both branches.
        """
        with self._storing():
            status = await self._choose(head, safe, finalized)
            if status is SYNCING and await self._has_come():
                status = await self._choose(head, safe, finalized)
        self.is_unstored &= status.status != "VALID"
        return status

    def not_ready_reason(self) -> str | None:
        """Return why the node should not be asked now; None unless blocks cannot be stored."""
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
            # The specification lets a client pass over an update only if the head is below the finalized
            # block.
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
        """Wait `COMING_SECONDS` at most for the wanted block; return True if its fetch has ended."""
        coming, self._coming = self._coming, None
        if coming is None:
            return False
        with trio.move_on_after(COMING_SECONDS):
            await coming.wait()
        return coming.is_set()

    async def _judge(self, block: UnverifiedBlock) -> PayloadStatus:
        """Verify a block after its waiting ancestors, and return its status."""
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
            # The payload's content does not have this hash, so the error says nothing of the block that has
            # it.
            return _logged(payload.block_hash, invalid(None, str(error)))
        below = self._malformed.get(payload.parent_hash)
        malformed = MalformedPayload(payload.parent_hash if below is None else below.parent, str(error))
        return _logged(payload.block_hash, self._remember(payload.block_hash, malformed))

    def _remember(self, block_hash: bytes, malformed: MalformedPayload) -> PayloadStatus:
        self._malformed[block_hash] = malformed
        if len(self._malformed) > MAX_MALFORMED:
            del self._malformed[next(iter(self._malformed))]
        return self._status_of(malformed)

    def _status_of(self, malformed: MalformedPayload) -> PayloadStatus:
        # The parent may have arrived since the payload was refused.
        return invalid(self._named(malformed.parent), malformed.error)

    def _named(self, block_hash: bytes) -> bytes | None:
        """Return the hash of the last valid block up to one in the form of a status, None if unknown."""
        if (refused := self._tree.tree.refusal(block_hash)) is not None:
            return self._named(refused.latest_valid)
        if (header := self._tree.tree.header(block_hash)) is None:
            return None
        return block_hash if header_fields(header).difficulty == 0 else BEFORE_THE_MERGE

    def _is_final(self, block_hash: bytes) -> bool:
        """Return True if a block is canonical and below the finalized one."""
        with self._chain.snapshot() as view:
            number, finalized = view.number_of(block_hash), view.finalized
        return number is not None and finalized is not None and number < finalized


def _leave(_block_hash: Hash32) -> None:
    """Return None: the consensus client sends the needed blocks."""


def _logged(block_hash: bytes, status: PayloadStatus) -> PayloadStatus:
    logger.warning("payload %s is invalid: %s", hexadecimal(block_hash), status.validation_error)
    return status


def _log_change(change: HeadChange) -> None:
    if change.removed:
        logger.info("%d blocks replaced by %d", len(change.removed), len(change.added))
    if change.added:
        logger.info("head %s", change.added[-1])
