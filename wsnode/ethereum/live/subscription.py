"""Subscriptions of a client: live in a group, or on the way from a position to the head."""

from wsnode.ethereum.head import Head
from wsnode.ethereum.live.branches import UnknownPositionError
from wsnode.ethereum.live.history import PrunedHistoryError
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.notices import (
    CLOSE_UNKNOWN,
    Message,
    ReorganisationNotice,
    fallen_behind_notice,
    lost_block_notice,
    missed_notice,
    pruned_history_notice,
    reorganisation_notice,
    restart_notice,
)
from wsnode.ethereum.live.pending_feed import PendingEvents, PendingSpec
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.live.subscription_spec import StoredSubject
from wsnode.ethereum.live.sync_feed import SyncFeed
from wsnode.pubsub.subscription import Event, EventChannel, Subscription


class StoreSubscription(Subscription):
    """Subscription to stored events, like `logs` and `newHeads`; missed ones are read from the store."""

    def __init__(
        self,
        kind: str,
        channel: EventChannel,
        hub: Hub,
        subject: StoredSubject,
        position: Position | None = None,
    ) -> None:
        """Make a subscription to events after `position`, by default to those after its beginning."""
        super().__init__(kind, channel)
        self._hub = hub
        self._subject = subject
        self._position = position
        self._floor: Head | None = None
        """During a reorganisation: the block below those that the notice has named; otherwise None."""

    @property
    def weight(self) -> int:
        return self._subject.weight

    def end(self) -> None:
        if not self.ended:
            self._hub.parameters -= self.weight
            self._hub.forget(self._resume)
        super().end()

    def begin(self) -> None:
        """Send the events since its position, then go live."""
        self._hub.advance()
        self._catch_up_from(self._position or Position.after(self._hub.head))

    def fall_behind(self, position: Position, missed: int) -> None:
        """Continue from `position` once the client has read; send a notice first if its form has notices."""
        if self._subject.form.has_notices:
            self._tell(fallen_behind_notice(self._subject.cursor(position), missed))
        self._catch_up_from(position)

    def final_notice(self) -> Event | None:
        """Return the notice that the node restarts, with the cursor to continue from.

        Returns None if the subscription did not ask for notices.
        """
        if not self._subject.form.has_notices:
            return None
        position = self._position or self._hub.live_position(self._subject)
        return Event([restart_notice(self._subject.cursor(position))])

    def _go_live(self) -> None:
        self._position = self._floor = None
        self._hub.groups.of(self._subject).join(self)

    def _tell(self, message: Message) -> None:
        self.deliver(Event([message]))

    def _catch_up_from(self, position: Position) -> None:
        self._position = position
        if self._has_to_catch_up():
            self.channel.catch_up(self)

    def _has_to_catch_up(self) -> bool:
        """Go live and return False if the hub is at its position; else return True."""
        if self._position != self._hub.meeting_point:
            return True
        self._go_live()
        return False

    async def take_step(self) -> bool:
        """Send the next page; return False once it is live, or if the hub must first reach its position."""
        if not self._has_to_catch_up():
            return False
        must_wait = await self._take_next_page()
        if self.ended:
            return False
        if must_wait:
            self._hub.call_once_looked(self._resume)
            return False
        return self._has_to_catch_up()

    def _resume(self) -> None:
        if self._position is not None:
            self._catch_up_from(self._position)

    async def _take_next_page(self) -> bool:
        """Send a page; return True if the hub, being held, must first reach the position."""
        try:
            return await self._take_page()
        except UnknownPositionError as error:
            self._lose(error)
            return False

    async def _take_page(self) -> bool:
        """Send a page; return True if the position is ahead of the hub, which is being held.

        Raises:
            UnknownPositionError: The position's block is not stored.
        """
        position = self._position
        assert position is not None
        page = await self._hub.replay.page(self._subject, position, self._hub.head, self._floor)
        if self.ended:
            return False
        if page.is_ahead:
            # The hub may publish nothing, since the blocks may have left the chain again when it reads the
            # store.
            self._hub.advance()
            return self._hub.is_held
        if page.change is not None:
            self._tell_reorganisation(page.change, position)
        if page.event is not None:
            self.deliver(page.event)
        self._position, self._floor = page.position, page.floor
        if page.position == position:
            # The store's branch is not the one that the hub published last, so the hub publishes it first.
            self._hub.advance()
        return False

    def _tell_reorganisation(self, change: ReorganisationNotice, position: Position) -> None:
        cursor = self._subject.cursor(position) if self._subject.form.cursors else None
        self._tell(reorganisation_notice(change, cursor))

    def _lose(self, error: UnknownPositionError) -> None:
        if self.ended:
            return
        if not self._subject.form.has_notices:
            self.channel.close(*CLOSE_UNKNOWN)
            return
        self._position, self._floor = Position.after(self._hub.head), None
        lost, cursor = error.position, self._subject.cursor(self._position)
        if isinstance(error, PrunedHistoryError):
            self._tell(pruned_history_notice(lost, f"the forked chain's node: {error.reason}", cursor))
        else:
            with self._hub.snapshot() as view:
                earliest = view.earliest
            self._tell(lost_block_notice(lost, earliest, cursor))


class PendingSubscription(Subscription):
    """Subscription to pending transactions; events that it missed are lost."""

    def __init__(
        self,
        kind: str,
        channel: EventChannel,
        hub: Hub,
        subject: PendingSpec,
        *,
        has_notices: bool = False,
    ) -> None:
        """Send the number of missed transactions and a restart's notice if it `has_notices`."""
        super().__init__(kind, channel)
        self._has_notices = has_notices
        self._hub = hub
        self._subject = subject
        self._events: PendingEvents | None = None
        """Events of the subject, held from the subscription's beginning to its end."""
        self._missed_from = 0

    @property
    def weight(self) -> int:
        return self._subject.wanted.weight

    def begin(self) -> None:
        self._events = self._hub.pending.hold(self._subject)
        self._events.group.join(self)

    def end(self) -> None:
        if not self.ended:
            self._hub.parameters -= self.weight
        super().end()
        if self._events is not None:
            self._hub.pending.release(self._subject)
            self._events = None

    def fall_behind(self, position: int, missed: int) -> None:
        """Go live again once the client has read; a notice then counts all transactions after `position`."""
        self._missed_from = position
        self.channel.catch_up(self)

    async def take_step(self) -> bool:
        """Go live, after a notice of the missed transactions; return False."""
        assert self._events is not None
        if self._has_notices:
            self.deliver(Event([missed_notice(self._events.count - self._missed_from)]))
        self._events.group.join(self)
        return False

    def final_notice(self) -> Event | None:
        return Event([restart_notice(None)]) if self._has_notices else None


class SyncSubscription(Subscription):
    """Subscription to `syncing`; missed events are dropped, since they are outdated."""

    def __init__(self, channel: EventChannel, feed: SyncFeed) -> None:
        super().__init__("syncing", channel)
        self._feed = feed

    def begin(self) -> None:
        self._feed.group.join(self)

    def fall_behind(self, position: None, missed: int) -> None:
        self.channel.catch_up(self)

    async def take_step(self) -> bool:
        self._feed.group.join(self)
        return False

    def final_notice(self) -> None:
        """Return None: this kind has no notices."""
        return
