"""Subscriptions to outcomes of calls."""

from collections.abc import Callable, Sequence
from functools import partial

from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.subscription_spec import Extensions
from wsnode.ethereum.live.values.calls import CallFeed, CallWatch, render_outcomes
from wsnode.ethereum.live.values.cursor import StateCursor
from wsnode.ethereum.live.values.historical_outcomes import HistoricalOutcomes
from wsnode.ethereum.live.values.subscription import ValueSubscription
from wsnode.ethereum.live.values.watched_values import BlockState
from wsnode.ethereum.state import Message
from wsnode.pubsub.subscription import EventChannel


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
