"""Hub: the head that subscribers have received, and its changes after the store's head."""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final, Protocol

import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head, HeadChange
from wsnode.ethereum.live.branches import (
    UnknownPositionError,
    canonical_rows,
    dropped_from,
    head_of,
    is_canonical,
    known_rows,
    reorganisation,
)
from wsnode.ethereum.live.groups import SubjectGroups
from wsnode.ethereum.live.notices import (
    CLOSE_UNKNOWN,
    CLOSE_UNPUBLISHED,
    Message,
    lost_block_notice,
    reorganisation_notice,
    unpublished_notice,
)
from wsnode.ethereum.live.pending_feed import PendingFeed
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.live.replay import ReplayPages
from wsnode.ethereum.live.subscription_spec import LogSpec, StoredSubject
from wsnode.ethereum.live.sync_feed import SyncFeed
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import LiveBytes, LiveCalls, MissingStateError, State
from wsnode.pubsub.fan_out import FanOut
from wsnode.pubsub.store_watch import StoreWatch
from wsnode.store.environment import StoreError

STEP_BLOCKS: Final = 64
STEP_LOGS: Final = 2000
"""Maximum logs of the blocks that are published in one step: about 20 ms with `STEP_BLOCKS` blocks."""

logger = logging.getLogger("wsnode.live")


class ReorgInProgress:
    """Reorganisation whose dropped blocks are being published one by one; `rest` has the blocks still to
    publish, highest first, `ancestor` the last common block.
    """

    __slots__ = ("ancestor", "rest")

    def __init__(self, dropped: list[Head], ancestor: Head) -> None:
        self.rest = deque(dropped)
        self.ancestor = ancestor


class ProofSource(Protocol):
    """Source of values of a light folder's states, proved by other nodes because no block is executed here;
    called for watched accounts and calls.
    """

    async def carry(self, error: MissingStateError) -> bool:
        """Keep those of the lacking values that follow from earlier states and access lists.

        The error names the others then. Returns True if there were any to keep.
        """

    async def fetch(self, error: MissingStateError) -> None:
        """Have other nodes prove the missing values.

        Raises:
            RpcError: No node proves them.
        """


class Hub:
    """Publisher of new blocks and reorganisations, from the store to the live subscriptions of one chain."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._spec = chain.spec
        self.fan_out = FanOut()
        """Delivery of events to subscribers; run by the hub's owner."""
        self.groups = SubjectGroups(self.fan_out)
        self.replay = ReplayPages(chain)
        self.pending = PendingFeed(self.fan_out)
        self.syncing = SyncFeed(self.fan_out)
        with chain.snapshot() as view:
            self.head = view.head
            """The last published head, or the block below the dropped ones published so far."""
            self._has_begun = view.has_begun
            """True if `head` is a block of the chain; a new light folder has none yet."""
        self._descent: ReorgInProgress | None = None
        self.parameters = 0
        """Number of addresses and topics named by all subscriptions."""
        self.live_calls = 0
        """Number of accounts, slots and calls watched by all subscriptions."""
        self.live_table: LiveCalls | None = None
        """Table of watched calls; None without methods that watch calls."""
        self.live_bytes = LiveBytes()
        """Count of their bytes; the owner of several chains may give all of them one count."""
        self.live_late_blocks = 0
        """Number of blocks skipped because watched values were not proved in time."""
        self.proof_source: ProofSource | None = None
        """Source of proved values in a light folder, None where blocks are executed."""
        self.background: list[Callable[[], Awaitable[None]]] = []
        """Tasks of its subscriptions; the hub's owner runs them for ever beside `watch`."""
        self.on_change: list[Callable[[HeadChange], None]] = []
        """Callbacks for each change, after its events have been published."""
        self.on_same_head: list[Callable[[], None]] = []
        """Callbacks for commits that left the head unchanged: patches, finality marks, side blocks."""
        self._version = chain.version
        """Version of the store at the last comparison."""
        self.is_held = False
        """True while a change of several steps is made, to be published as one."""
        self._looked = trio.Event()
        """Event set when the store is next compared, and then replaced."""
        self._once_looked: dict[Callable[[], None], None] = {}
        self._watch = StoreWatch(self.fan_out, chain.written_elsewhere)

    @property
    def state(self) -> State:
        return self._chain.state

    def snapshot(self) -> Snapshot:
        return self._chain.snapshot()

    def advance(self) -> HeadChange:
        """Publish the changes since the last call, and return them.

        Of many blocks only the first are published; the watching task publishes the rest.
        """
        if self.is_held:
            return HeadChange((), ())
        looked, self._looked = self._looked, trio.Event()
        looked.set()
        try:
            return self._advance()
        finally:
            waiting, self._once_looked = self._once_looked, {}
            for resume in waiting:
                resume()

    def _advance(self) -> HeadChange:
        with self._chain.snapshot() as view:
            version, self._version = self._version, view.version
            is_same = view.head.hash == self.head.hash and self._descent is None
            change = HeadChange((), ()) if is_same else self._step(view)
            self._has_begun = self._has_begun or view.has_begun
            is_behind = self._descent is not None or self.head.hash != view.head.hash
        # The first slice of events is delivered immediately: the task that delivers the rest has its turn
        # only after all other ready tasks.
        self.fan_out.begin()
        self._watch.take_note(is_behind=is_behind)
        if not is_same:
            self._call(partial(listener, change) for listener in self.on_change)
        elif version != self._version:
            self._call(self.on_same_head)
        return change

    def _call(self, listeners: Iterable[Callable[[], None]]) -> None:
        for listener in listeners:
            try:
                listener()
            except Exception:
                # A failing listener, such as the pool, must not keep blocks from subscribers.
                logger.exception("a listener to changes of the chain failed on this change")

    @property
    def next_look(self) -> trio.Event:
        """Return the event that is set when the store is next compared."""
        return self._looked

    async def wait_move(self, head: Head) -> None:
        """Wait until the published head differs from `head`."""
        while self.head == head:
            await self._looked.wait()

    def call_once_looked(self, resume: Callable[[], None]) -> None:
        """Call `resume` once, after the next comparison of the store with the published head.

        `forget` revokes the call.
        """
        self._once_looked[resume] = None

    def forget(self, resume: Callable[[], None]) -> None:
        """Cancel the call of `resume`, if one is pending."""
        self._once_looked.pop(resume, None)

    @property
    def meeting_point(self) -> Position | None:
        """Return where a subscription can go live; None while dropped blocks are published."""
        return Position.after(self.head) if self._descent is None else None

    def live_position(self, subject: StoredSubject) -> Position:
        if self._descent is not None and not isinstance(subject, LogSpec):
            return Position.after(self._descent.ancestor)
        return Position.after(self.head)

    def _step(self, view: Snapshot) -> HeadChange:
        descent = self._descent
        try:
            if descent is None:
                descent = ReorgInProgress(*dropped_from(view, Position.after(self.head)))
            return self._publish_change(view, descent)
        except UnknownPositionError as error:
            return self._begin_again(view, error.position)

    def _publish_change(self, view: Snapshot, descent: ReorgInProgress) -> HeadChange:
        """Publish a change; a bug in publishing one block must neither end the node nor stay unnoticed."""
        dropped, ancestor = tuple(descent.rest), descent.ancestor
        try:
            return self._change(view, descent)
        except (StoreError, UnknownPositionError):
            raise
        except Exception:
            logger.exception(
                "the change after block %s cannot be published; subscriptions continue after it", self.head
            )
        untold, before = self.head, Position.after(self.head)
        self._move_to(view)
        self.groups.notify(unpublished_notice(untold, Position.after(self.head)), before, CLOSE_UNPUBLISHED)
        rows = (view.header(number) for number in range(ancestor.number + 1, view.number + 1))
        return HeadChange(dropped, tuple(head_of(row) for row in rows if row is not None))

    def _move_to(self, view: Snapshot) -> None:
        self._descent = None
        self.head = view.head

    def _change(self, view: Snapshot, descent: ReorgInProgress) -> HeadChange:
        if descent.rest and self._descent is None:
            self._announce_reorganisation(view, list(descent.rest), descent.ancestor)
        dropped = self._drop_blocks(view, descent)
        if descent.rest:
            self._descent = descent
            return HeadChange(tuple(dropped), ())
        self._descent = None
        self.head = descent.ancestor
        if not is_canonical(view, Position.after(self.head)):
            # The chain was reorganised once more since this reorganisation was announced.
            return HeadChange(tuple(dropped), ())
        return HeadChange(tuple(dropped), tuple(self._add_blocks(view, self.head.number + 1)))

    def _drop_blocks(self, view: Snapshot, descent: ReorgInProgress) -> list[Head]:
        """Publish the removal of a step's blocks, even if they are canonical again: it was announced."""
        dropped: list[Head] = []
        logs = 0
        while descent.rest and len(dropped) < STEP_BLOCKS and logs < STEP_LOGS:
            head = descent.rest[0]
            before = Position.after(head)
            rows = known_rows(view, before)
            logs += self.groups.publish_logs(rows, head, before, removed=True)
            self.groups.publish_mined(rows, head, before, removed=True)
            dropped.append(descent.rest.popleft())
            self.head = descent.rest[0] if descent.rest else descent.ancestor
        return dropped

    def _add_blocks(self, view: Snapshot, first: int) -> list[Head]:
        added: list[Head] = []
        logs = view.log_count_before(first) + STEP_LOGS
        for number in range(first, min(view.number + 1, first + STEP_BLOCKS)):
            if added and view.log_count_before(number + 1) > logs:
                break
            rows = canonical_rows(view, number)
            before, head = Position.after(self.head), head_of(rows[0])
            self.groups.publish_header(rows[0], head, before)
            self.groups.publish_receipts(view, rows, head, before)
            self.groups.publish_logs(rows, head, before, removed=False)
            # Whole blocks are larger than headers, receipts and logs, and would delay them.
            self.groups.publish_block(rows, head, before)
            self.groups.publish_mined(rows, head, before, removed=False)
            self.head = head
            added.append(head)
        return added

    def _announce_reorganisation(self, view: Snapshot, dropped: list[Head], ancestor: Head) -> None:
        change = reorganisation(view, dropped, ancestor)

        def notice(cursor: Position | None) -> Message:
            return reorganisation_notice(change, cursor)

        self.groups.announce(notice, Position.after(dropped[0]), to=lambda form: form.reorgs)

    def _begin_again(self, view: Snapshot, lost: Position) -> HeadChange:
        """Continue at the store's head, which no path connects with the last published block."""
        if self._spec is not view.spec:
            # The chain has been replaced by another one, whose head is published after the last announced
            # block.
            self._spec, self._descent = view.spec, None
            return HeadChange((), tuple(self._add_blocks(view, view.number)))
        if not self._has_begun and view.has_begun:
            return self._begin_light(view)
        if lost.number >= view.earliest:
            logger.error(
                "block %s, which was published, is no longer stored; subscriptions continue at the head",
                lost.head,
            )
        before = Position.after(self.head)
        self._move_to(view)
        notice = lost_block_notice(lost, view.earliest, Position.after(self.head))
        self.groups.notify(notice, before, CLOSE_UNKNOWN)
        return HeadChange((), (self.head,))

    def _begin_light(self, view: Snapshot) -> HeadChange:
        """Publish the blocks of a new light folder; below its first block there is no genesis block."""
        first = view.earliest
        header = view.header(first)
        assert header is not None, "the first block is stored"
        # A slow subscriber continues from the first block's parent, which need not be stored.
        self.head = Head(BlockNumber(first - 1), Hash32(view.parent_hash(header)))
        return HeadChange((), tuple(self._add_blocks(view, first)))

    async def watch(self) -> None:
        """Publish, for ever, blocks that another process writes, and the rest of many blocks."""
        await self._watch.run(self.advance)
