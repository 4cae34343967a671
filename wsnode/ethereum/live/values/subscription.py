"""Subscriptions to values of the state, and to outcomes of calls."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.notices import fallen_behind_notice, notification, restart_notice
from wsnode.ethereum.live.subscription_spec import Extensions
from wsnode.ethereum.live.values.call_runs import HistoricalOutcomes
from wsnode.ethereum.live.values.calls import CallFeed, CallWatch, render_outcomes
from wsnode.ethereum.live.values.feed import StateFeed, SubscriberGroups, WatchedKeys, values_at
from wsnode.ethereum.live.values.proved_feed import ProvedStateFeed, ProvedWatchedKeys
from wsnode.ethereum.live.values.watched_values import (
    BlockState,
    Key,
    PublishedValues,
    StateCursor,
    Values,
    changes_of,
    render_values,
)
from wsnode.ethereum.state import Message
from wsnode.pubsub.subscription import Event, EventChannel, Subscription

G = TypeVar("G", bound=SubscriberGroups)
W = TypeVar("W", bound=WatchedKeys)
F = TypeVar("F")


class ValueSubscription(Subscription, Generic[G]):
    """Subscription to values of the state or outcomes of calls: it sends all values first, then only changed
    ones. A client that reads too slowly gets the latest values without those in between.
    """

    def __init__(
        self,
        kind: str,
        channel: EventChannel,
        hub: Hub,
        form: Extensions,
        cursor: StateCursor | None,
        values: int,
        on_end: Callable[[], None],
    ) -> None:
        """Make a subscription that counts as `values` values; the client has those after `cursor`, if any."""
        super().__init__(kind, channel)
        self._hub = hub
        self._form = form
        self._cursor = cursor
        self._values = values
        self._on_end = on_end
        self._watch: G | None = None
        self._is_new = True
        """True until its first notification has been sent."""
        self._told: PublishedValues | None = None
        """Values of a client that fell behind; None otherwise."""

    @property
    def values(self) -> int:
        return self._values

    @property
    @abstractmethod
    def _latest(self) -> StateCursor | None:
        """Return the state of the values in its watch, None if they are not known."""

    @abstractmethod
    def _release(self, watch: G) -> None:
        """Return the watch to its feed."""

    @abstractmethod
    def _render(self, place: BlockState, watch: G, before: Any, *, is_complete: bool) -> bytes:
        """Return the result with the values that differ from `before`; all values for None."""

    @abstractmethod
    def _differs(self, watch: G, before: Any) -> bool:
        """Return True if values differ from those of `before`."""

    def begin(self) -> None:
        """Send the first values once there is room, then go live."""
        self._hub.advance()
        self.channel.catch_up(self)

    def end(self) -> None:
        if not self.ended:
            self._hub.forget(self._resume)
            self._on_end()
        super().end()
        if self._watch is not None:
            self._release(self._watch)
            self._watch = None

    def fall_behind(self, position: PublishedValues, missed: int) -> None:
        """Send the changes since `position` once the client has read, after a notice if it has notices."""
        self._told = position
        self.channel.catch_up(self)

    def final_notice(self) -> Event | None:
        if not self._form.has_notices:
            return None
        if self._is_new:
            return Event([restart_notice(self._cursor)])
        return Event([restart_notice(self._latest if self._told is None else self._told.cursor)])

    def _resume(self) -> None:
        self.channel.catch_up(self)

    def _send_first(self, place: BlockState, watch: G, before: Any) -> None:
        """Send the changes since `before`, or all values, and go live."""
        self._deliver(place, self._render(place, watch, before, is_complete=before is None))
        self._is_new = False
        watch.group(self._form).join(self)

    def _send_missed(self, place: BlockState, watch: G) -> None:
        """Send the changes that the client missed, and go live."""
        if (told := self._told) is not None:
            if self._form.has_notices:
                # A step to a block that is no higher, of another branch or by a patch of the state, counts as
                # one block.
                blocks = max(place.cursor.head.number - told.cursor.head.number, 1)
                self.deliver(Event([fallen_behind_notice(told.cursor, blocks)]))
            if self._differs(watch, told.values):
                self._deliver(place, self._render(place, watch, told.values, is_complete=False))
            self._told = None
        watch.group(self._form).join(self)

    def _deliver(self, place: BlockState, result: bytes) -> None:
        self.deliver(Event([notification(result, place.cursor if self._form.cursors else None)]))


class KeyedSubscription(ValueSubscription[W], Generic[W, F]):
    """Subscription to `state`: accounts and slots by their keys."""

    def __init__(
        self,
        channel: EventChannel,
        hub: Hub,
        feed: F,
        keys: tuple[Key, ...],
        form: Extensions,
        cursor: StateCursor | None,
        values: int,
        on_end: Callable[[], None],
    ) -> None:
        super().__init__("state", channel, hub, form, cursor, values, on_end)
        self._feed = feed
        self._keys = keys

    def _render(self, place: BlockState, watch: W, before: Values | None, *, is_complete: bool) -> bytes:
        return render_values(place, changes_of(before, watch.values), is_complete=is_complete)

    def _differs(self, watch: W, before: Values) -> bool:
        return bool(changes_of(before, watch.values))


class StateSubscription(KeyedSubscription[WatchedKeys, StateFeed]):
    """Subscription to `state` of a chain whose blocks are executed here."""

    async def take_step(self) -> bool:
        """Send the missing values, and go live; return False, also while the head is being published."""
        with self._feed.view() as view:
            if view is None:
                self._hub.call_once_looked(self._resume)
                return False
            assert self._feed.cursor is not None, "there is a view"
            place = BlockState(self._feed.cursor, view.head_timestamp)
            if self._watch is None:
                self._watch = self._feed.hold(self._keys, view)
                before = None if self._cursor is None else values_at(view, self._cursor, self._keys)
                self._send_first(place, self._watch, before)
            else:
                self._send_missed(place, self._watch)
        return False

    def _release(self, watch: WatchedKeys) -> None:
        self._feed.release(watch)

    @property
    def _latest(self) -> StateCursor | None:
        return self._feed.cursor


class ProvedStateSubscription(KeyedSubscription[ProvedWatchedKeys, ProvedStateFeed]):
    """Subscription to `state` of a light folder: it waits for first values, and any may be an error."""

    def end(self) -> None:
        if self._watch is not None:
            self._watch.once_proved.pop(self._resume, None)
        super().end()

    async def take_step(self) -> bool:
        """Send the missing values, and go live once there are values; return False."""
        if self._watch is None:
            self._watch = self._feed.hold(self._keys)
        watch = self._watch
        if watch.place is None:
            watch.once_proved[self._resume] = None
            return False
        if not self._is_new:
            self._send_missed(watch.place, watch)
            return False
        before = None if self._cursor is None else await self._feed.values_at(self._cursor, self._keys)
        if not self.ended:
            self._send_first(watch.place, watch, before)
        return False

    def _release(self, watch: ProvedWatchedKeys) -> None:
        self._feed.release(watch)

    @property
    def _latest(self) -> StateCursor | None:
        if self._watch is None or self._watch.place is None:
            return None
        return self._watch.place.cursor


class CallSubscription(ValueSubscription[CallWatch]):
    """Subscription to `calls`; it goes live once all outcomes after one block are known."""

    def __init__(
        self,
        channel: EventChannel,
        hub: Hub,
        feed: CallFeed,
        key: bytes,
        messages: Sequence[Message],
        client: int,
        form: Extensions,
        cursor: StateCursor | None,
        on_end: Callable[[], None],
    ) -> None:
        """Make a subscription; equal calls have equal keys. The client has those up to `cursor`, if any."""
        super().__init__("calls", channel, hub, form, cursor, len(messages), on_end)
        self._feed = feed
        self._hold = partial(feed.hold, key, messages, client)
        self._earlier: HistoricalOutcomes | None = None
        self._look = 0
        """Number of the first run (`CallFeed.looks`) whose outcomes are recent enough."""

    def end(self) -> None:
        self._feed.forget(self._resume)
        if self._earlier is not None:
            self._feed.stop_looking_back(self._earlier)
        super().end()

    async def take_step(self) -> bool:
        """Send the missing outcomes, and go live once all are known; return False."""
        if self._watch is None:
            self._watch = self._hold()
            self._look = self._feed.looks + 1
            if self._cursor is not None:
                self._earlier = self._feed.look_back(self._watch, self._cursor, self.values)
        place = self._feed.place_of(self._watch)
        if place is None or not self._is_ready():
            self._feed.wait(self._is_ready, self._resume)
        elif self._is_new:
            before = None if self._earlier is None else self._earlier.digests
            self._send_first(place, self._watch, before)
        else:
            self._send_missed(place, self._watch)
        return False

    def _is_ready(self) -> bool:
        """Return True if all outcomes after a recent enough step are known."""
        feed, earlier = self._feed, self._earlier
        if self._watch is None or feed.cursor is None or feed.looks < self._look:
            return False
        return (earlier is None or earlier.is_over) and feed.table.is_complete(self._watch.number)

    def _render(
        self, place: BlockState, watch: CallWatch, before: bytes | None, *, is_complete: bool
    ) -> bytes:
        entries = self._feed.table.changes(watch.number, before or b"")
        return render_outcomes(place, entries, is_complete=is_complete)

    def _differs(self, watch: CallWatch, before: bytes) -> bool:
        return bool(self._feed.table.changes(watch.number, before))

    def _release(self, watch: CallWatch) -> None:
        self._feed.release(watch)

    @property
    def _latest(self) -> StateCursor | None:
        return None if self._watch is None else self._feed.cursor_of(self._watch)
