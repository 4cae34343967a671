"""Subscriptions to values that other nodes prove."""

from wsnode.ethereum.live.values.cursor import StateCursor
from wsnode.ethereum.live.values.proved_feed import ProvedStateFeed, ProvedWatchedKeys
from wsnode.ethereum.live.values.subscription import KeyedSubscription


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
