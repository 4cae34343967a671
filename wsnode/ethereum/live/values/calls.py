"""Calls watched by subscribers of a chain, and the outcomes changed by each step of the chain."""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import msgspec
import trio

from wsnode.ethereum.head import Head
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.values.call_runs import (
    MAX_ATTEMPTS,
    CallBounds,
    CallProofs,
    HistoricalOutcomes,
    TimeShare,
)
from wsnode.ethereum.live.values.feed import (
    LIST_BYTES,
    SubscriberGroups,
    announce_reorganisation,
    cursor_at,
    is_behind,
    parent_cursor,
    published_view,
)
from wsnode.ethereum.live.values.watched_values import BlockState, PublishedValues, StateCursor, place_members
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import (
    CancelFlag,
    LiveCalls,
    Message,
    MissingStateError,
    StateError,
)
from wsnode.ethereum.state_fetchers import StateFetchers
from wsnode.jsonrpc.errors import RpcError, limit_exceeded
from wsnode.pubsub.fan_out import FanOut

SLICE_SECONDS: Final = 0.01
"""Seconds of one slice of runs, after which its outcomes are published."""
STEPS_KEPT: Final = 16
"""Number of steps whose states are remembered; no list lags by as many."""
LINE_STEPS: Final = 256
"""Number of steps from whose states changes can be found; the engine keeps the changes of as many."""
MAX_FETCHES: Final = 64
"""Maximum rounds of fetches for the calls of one step."""


class CallWatch(SubscriberGroups):
    """List of calls subscribed to by equal subscriptions, with the groups of these subscribers; `key` is a
    digest of the list.
    """

    def __init__(self, fan_out: FanOut, key: bytes, number: int) -> None:
        super().__init__(fan_out)
        self.key = key
        self.number = number
        """Number of the list in the engine."""
        self.late_place: tuple[int, BlockState] | None = None
        """Last step of a late run of the list, and the state at it."""


class CallFeed:
    """Feed of the outcomes of subscribed calls: after each new block it runs the calls that read changed
    values, and publishes the changed outcomes.
    """

    def __init__(self, hub: Hub, bounds: CallBounds, fetchers: Callable[[], StateFetchers | None]) -> None:
        """Make a feed; `fetchers` returns the source of unknown state, None if there is none."""
        self._hub = hub
        self._bounds = bounds
        self._fetchers = fetchers
        self.table = LiveCalls(
            gas=bounds.gas,
            gas_blocks=bounds.gas_blocks,
            reads=bounds.reads,
            bytes=bounds.bytes,
            all_bytes=hub.live_bytes,
        )
        self._proofs = CallProofs(hub, self.table, bounds.proofs)
        self.cursor: StateCursor | None = None
        """State of the last step; None while no call is watched."""
        self.looks = 0
        """Number of times that the chain was compared."""
        self._places: dict[int, BlockState] = {}
        """States of the last steps, by step."""
        self._line: deque[tuple[int, StateCursor]] = deque(maxlen=LINE_STEPS)
        """Steps that the last one follows on the chain, each with its state."""
        self._watches: dict[bytes, CallWatch] = {}
        self._by_number: dict[int, CallWatch] = {}
        self._waiting: dict[Callable[[], None], Callable[[], bool]] = {}
        """Callbacks, each with a condition; a callback is called once its condition is true."""
        self._earlier: dict[HistoricalOutcomes, None] = {}
        """Outcomes at earlier states that are still to be found."""
        self._woken = trio.Event()
        self._rested = trio.Event()
        self._pace, self._late_pace = TimeShare(bounds.time_fraction), TimeShare(bounds.time_fraction / 2)
        self._lateness = trio.Event()
        self._pinned: Head | None = None
        """Block after which late lists run, beside the others; None if none does."""
        self._stop: CancelFlag | None = None
        """Flag that ends the runs after the last step."""
        hub.on_change.append(lambda _change: self._look_soon())
        hub.on_same_head.append(self._look_soon)
        hub.background += (self.run, self.run_late)

    def __len__(self) -> int:
        return len(self._watches)

    def require_room(self, messages: Sequence[Message]) -> None:
        """Check that there is room for more calls.

        Raises:
            RpcError: All calls together would exceed their bound of bytes.
        """
        if not self.table.admits(list(messages)):
            raise limit_exceeded("too many bytes of live calls", {"limit": self._bounds.bytes})

    def hold(self, key: bytes, messages: Sequence[Message], client: int) -> CallWatch:
        """Return the watch of calls; equal calls have equal keys. Each call is undone by `release`."""
        if (watch := self._watches.get(key)) is None:
            number = self.table.add(list(messages), client)
            watch = self._watches[key] = self._by_number[number] = CallWatch(self._hub.fan_out, key, number)
        watch.holders += 1
        return watch

    def release(self, watch: CallWatch) -> None:
        """Undo a call of `hold`; the last one drops the watch."""
        watch.holders -= 1
        if watch.holders:
            return
        self.table.remove(watch.number)
        del self._watches[watch.key]
        del self._by_number[watch.number]
        if not self._watches:
            self.cursor = None
            self._places.clear()
            self._line.clear()

    def wait(self, is_ready: Callable[[], bool], resume: Callable[[], None]) -> None:
        """Compare the chain, and call `resume` once `is_ready` returns True."""
        self._waiting[resume] = is_ready
        self._look_soon()

    def forget(self, resume: Callable[[], None]) -> None:
        """Cancel the call of `resume`, if one is pending."""
        self._waiting.pop(resume, None)

    def look_back(self, watch: CallWatch, cursor: StateCursor, count: int) -> HistoricalOutcomes:
        """Begin to find the outcomes after a block, between runs of due calls, and return their holder."""
        earlier = HistoricalOutcomes(watch.number, cursor, count)
        self._earlier[earlier] = None
        return earlier

    def stop_looking_back(self, earlier: HistoricalOutcomes) -> None:
        earlier.is_over = True
        self._earlier.pop(earlier, None)

    def cursor_of(self, watch: CallWatch) -> StateCursor | None:
        """Return the last state at which a watch's subscribers had all outcomes; None before the first."""
        place = self.place_of(watch)
        return None if place is None else place.cursor

    def place_of(self, watch: CallWatch) -> BlockState | None:
        """Return the state of a watch's outcomes; None before the first time."""
        step = self.table.complete_since(watch.number)
        return None if step is None else self._place_at(watch, step)

    def _place_at(self, watch: CallWatch, step: int) -> BlockState | None:
        late = watch.late_place
        return late[1] if late is not None and late[0] == step else self._places.get(step)

    async def wait_rest(self) -> None:
        """Wait until no call is due, and the last change of the chain has been processed."""
        while self._woken.is_set() or not self._rested.is_set():
            await self._rested.wait()
            await trio.lowlevel.checkpoint()

    def _look_soon(self) -> None:
        if self._watches:
            self._woken.set()
            if self._stop is not None:
                # A long run on the last block must not keep the other calls from the next block, so the run
                # is stopped.
                self._stop.set()

    async def run(self) -> None:
        while True:
            if not self._woken.is_set():
                self._rested.set()
            await self._woken.wait()
            # Heads and logs of a block are delivered before calls run, which would compete for processors.
            await self._hub.fan_out.deliver_published()
            self._woken = trio.Event()
            if self._rested.is_set():
                self._rested = trio.Event()
            if self._watches:
                await self._go_on()

    async def _go_on(self) -> None:
        with published_view(self._hub) as found:
            if found is not None:
                view, cursor = found
                # The head may leave the chain meanwhile.
                with suppress(StateError):
                    if self.cursor != cursor and not await self._prepare(view):
                        return
                    self._step(view, cursor)
                    await self._run_due(view)
                    return
            self._hub.call_once_looked(self._look_soon)

    async def _prepare(self, view: Snapshot) -> bool:
        """Have the values that calls read proved, in a light folder; return False if the head changed."""
        if not view.is_light:
            return True
        self._proofs.begin(is_late=self.table.is_too_late)
        await self._proofs.prove(view, _header(view))
        with self._hub.snapshot() as present:
            return bool(self._watches) and present.hash_of(view.head.number) == view.head.hash

    def _step(self, view: Snapshot, cursor: StateCursor) -> None:
        self.looks += 1
        before, self.cursor = self.cursor, None
        if before != cursor:
            if before is not None:
                announce_reorganisation(
                    view,
                    self._watches.values(),
                    before,
                    lambda watch: PublishedValues(
                        self.cursor_of(watch) or before, self.table.told(watch.number)
                    ),
                )
            if self._pinned is not None and view.hash_of(self._pinned.number) != self._pinned.hash:
                # No value of a block may be published after the notice that the block has left the chain.
                self.table.unpin()
            # If this step fails, `cursor` stays None, and the next step treats everything as changed.
            self._step_table(view, is_first=before is None)
            self._places[self.table.steps] = BlockState(cursor, view.head_timestamp)
            self._line.append((self.table.steps, cursor))
            self._places.pop(self.table.steps - STEPS_KEPT, None)
            self._pace.begin()
            self._late_pace.begin()
        self.cursor = cursor
        if self.table.is_too_late:
            self._lateness.set()
        self._publish()

    def _step_table(self, view: Snapshot, *, is_first: bool) -> None:
        """Mark calls whose values differ from the last step's as due; all if the changes are unknown.

        Changes are found from the last remembered state on the chain: from it steps lead to the last step,
        whose blocks may have left the chain or been patched, and the state's lists of changes lead to the new
        state.
        """
        since: StateCursor | None = None
        step: int | None = None
        if view.is_light:
            # A light folder compares the values that calls have read, those of an abandoned branch too. So
            # the last step always serves as the base.
            if self._line and not is_first:
                step, since = self._line[-1]
        elif is_first:
            self._line.clear()
            if (since := parent_cursor(view)) is not None:
                self._line.append((self.table.steps, since))
        else:
            while self._line and not is_behind(view, self._line[-1][1]):
                self._line.pop()
            if self._line:
                step, since = self._line[-1]
        block = None if since is None else (since.head.number, since.head.hash)
        self.table.step(view.state, _header(view), since=block, step=step, changes=LIST_BYTES)

    async def _run_due(self, view: Snapshot) -> None:
        header = _header(view)
        fetches = 0
        while self.table.has_due or self._earlier:
            with self._pace.work():
                try:
                    await self._run_slice(view, header)
                except MissingStateError as error:
                    fetches += 1
                    await self._fetch_due(view, error, is_last=fetches >= MAX_FETCHES)
            if self.cursor is None:
                # All watches were released meanwhile.
                return
            self._publish()
            with trio.move_on_at(self._pace.end(parts=1 if self._pinned is None else 2)):
                await self._woken.wait()
            if self._woken.is_set():
                return

    async def _run_slice(self, view: Snapshot, header: bytes) -> None:
        self._stop = CancelFlag()
        try:
            if self.table.has_due:
                await self._in_thread(self._stop, self.table.run, view.state, header)
            elif self._earlier:
                await self._look_back(view, next(iter(self._earlier)), self._stop)
        finally:
            self._stop = None

    async def run_late(self) -> None:
        """Run the calls of late lists after the block that they have reached, for ever.

        They run beside the others, on a snapshot of their own, so that neither waits for the other.
        """
        while True:
            await self._lateness.wait()
            self._lateness = trio.Event()
            with self._hub.snapshot() as view:
                try:
                    view.pin()
                    cursor = cursor_at(view)
                    if cursor == self.cursor and self.table.pin_late():
                        await self._run_pinned(
                            view, BlockState(cursor, view.head_timestamp), self.table.steps
                        )
                except StateError:
                    # The state of the pinned block is no longer available. The next step pins the late lists
                    # to another one.
                    continue

    async def _run_pinned(self, view: Snapshot, place: BlockState, step: int) -> None:
        header, fetches, is_over = _header(view), 0, False
        self._pinned = place.cursor.head
        try:
            while not is_over:
                with self._late_pace.work():
                    try:
                        is_over = await self._in_thread(CancelFlag(), self.table.run_late, view.state, header)
                    except MissingStateError as error:
                        fetches += 1
                        if not await self._fetch_late(view, error, is_last=fetches >= MAX_FETCHES):
                            return
                self._publish_late(place, step)
                await trio.sleep_until(self._late_pace.end())
        finally:
            self._pinned = None

    async def _fetch_late(self, view: Snapshot, error: MissingStateError, *, is_last: bool) -> bool:
        """Fetch missing values; return False if that failed: the run after the next step reports it."""
        try:
            return await self._fetch(view, error, is_last=is_last, is_late=True)
        except RpcError:
            return False

    def _publish_late(self, place: BlockState, step: int) -> None:
        for number, since, changes in self.table.take_late_ready():
            if (watch := self._by_number.get(number)) is not None:
                before = None if since is None else self._place_at(watch, since)
                watch.late_place = (step, place)
                self._publish_changes(watch, place, before or place, changes)
        self._resume_ready()

    async def _look_back(self, view: Snapshot, earlier: HistoricalOutcomes, stop: CancelFlag) -> None:
        """Find some outcomes at an earlier state; give up if it is pruned, or an outcome takes too long."""

        async def digests(row: bytes, first: int) -> bytes:
            number = earlier.number
            return bytes(await self._in_thread(stop, self.table.digests, view.state, row, number, first))

        has_found = await earlier.extend(view, digests)
        is_stopped = self._woken.is_set() and earlier.attempts < MAX_ATTEMPTS
        if not (has_found or is_stopped) or earlier.digests is not None:
            self.stop_looking_back(earlier)

    async def _in_thread(self, flag: CancelFlag, run: Callable[..., Any], *arguments: Any) -> Any:
        bound = partial(
            run,
            *arguments,
            slice_seconds=SLICE_SECONDS,
            call_seconds=self._bounds.call_seconds,
            cancel=flag,
        )
        try:
            return await trio.to_thread.run_sync(bound, abandon_on_cancel=True)
        finally:
            flag.set()

    async def _fetch(
        self, view: Snapshot, error: MissingStateError, *, is_last: bool, is_late: bool = False
    ) -> bool:
        """Fetch the values missing in a run; return False if no more may be requested after this block.

        Raises:
            RpcError: The values cannot be fetched.
        """
        if view.is_light and not is_last:
            return await self._proofs.fetch(error, is_late=is_late)
        fetchers = self._fetchers()
        session = None if fetchers is None else fetchers.begin("eth_call", b"[]", view)
        fetch = None if session is None or is_last else session.fetch_for(error)
        if fetch is None:
            raise limit_exceeded(
                f"it reads more of the state than may be fetched for one call: {MAX_FETCHES} rounds"
            )
        await fetch()
        return True

    async def _fetch_due(self, view: Snapshot, error: MissingStateError, *, is_last: bool) -> None:
        """Fetch the values missing in a run of calls, for them to run again, or have the calls fail."""
        try:
            is_fetched = await self._fetch(view, error, is_last=is_last)
        except RpcError as failure:
            is_fetched = False
            # Other nodes prove only their newest blocks: while a newer head waits, the failure may not occur
            # at that head.
            if not (view.is_light and self._woken.is_set()):
                self.table.fail_lacking(failure.code, failure.message)
        if is_fetched:
            self.table.retry_lacking()
        else:
            for earlier in list(self._earlier):
                self.stop_looking_back(earlier)

    def _publish(self) -> None:
        """Publish changed outcomes of lists without due calls, then call the callbacks that are ready."""
        place = self._places[self.table.steps]
        for number, since, changes in self.table.take_ready():
            if (watch := self._by_number.get(number)) is not None:
                before = None if since is None else self._place_at(watch, since)
                self._publish_changes(watch, place, before or place, changes)
        self._resume_ready()

    def _publish_changes(
        self, watch: CallWatch, place: BlockState, before: BlockState, changes: tuple[bytes, bytes] | None
    ) -> None:
        if changes is not None:
            entries, told = changes
            result = render_outcomes(place, entries)
            watch.publish(result, place.cursor, PublishedValues(before.cursor, told))

    def _resume_ready(self) -> None:
        for resume in [resume for resume, is_ready in self._waiting.items() if is_ready()]:
            del self._waiting[resume]
            resume()


def render_outcomes(place: BlockState, entries: bytes, *, is_complete: bool = False) -> bytes:
    """Return the result of a notification with the given outcomes."""
    members = msgspec.json.encode(place_members(place, is_complete=is_complete))
    return b'%b,"results":[%b]}' % (members[:-1], entries)


def _header(view: Snapshot) -> bytes:
    row = view.header(view.number)
    assert row is not None, "the head is stored"
    return row
