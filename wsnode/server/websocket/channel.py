"""WebSocket connection as its subscriptions see it."""

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

import trio
from websockets.frames import CloseCode

from wsnode.pubsub.subscription import ConnectionSubscriptions, Event, Subscription
from wsnode.server.scheduling.client_quota import ClientQuota
from wsnode.server.shared import Shared
from wsnode.server.websocket.encoding import encode_event
from wsnode.server.websocket.outbox import Outbox

logger = logging.getLogger("wsnode.server")


class NotificationConnection(Protocol):
    """Connection as its `SocketChannel` uses it: for sending notifications, starting tasks, and closing."""

    def post(self, frames: bytes) -> None:
        """Send whole frames after everything that was sent before."""
        ...

    def start(self, function: Callable[..., Awaitable[None]], *arguments: Any) -> None: ...

    def close(self, code: int, reason: str) -> None: ...


class SocketChannel:
    """Channel by which subscriptions reach the client of a WebSocket connection; implements `EventChannel`.
    It sends nothing once the connection has ended.
    """

    __slots__ = (
        "_behind",
        "_connection",
        "_counters",
        "_encoding",
        "_outbox",
        "_quota",
        "_shared",
        "_steps",
        "_subscriptions",
        "rpc_version",
    )

    def __init__(
        self,
        connection: NotificationConnection,
        outbox: Outbox,
        shared: Shared,
        quota: ClientQuota,
        encoding: int,
        rpc_version: str | None = None,
    ) -> None:
        """Make a channel; `encoding` is `UNCOMPRESSED`, or the bits of a compression window."""
        self.rpc_version = rpc_version
        """Version of a specification at the end of the client's path, None if there is none."""
        self._connection: NotificationConnection | None = connection
        self._outbox = outbox
        self._shared = shared
        self._counters = shared.counters
        self._quota = quota
        self._encoding = encoding
        # Most connections never subscribe to anything, so these objects are made when they are needed.
        self._subscriptions: ConnectionSubscriptions | None = None
        self._behind: OrderedDict[Subscription, None] | None = None
        self._steps: trio.CancelScope | None = None

    @property
    def subscriptions(self) -> ConnectionSubscriptions:
        if self._subscriptions is None:
            self._subscriptions = ConnectionSubscriptions(self, self._quota)
        return self._subscriptions

    @property
    def subscription_count(self) -> int:
        return 0 if self._subscriptions is None else len(self._subscriptions)

    @property
    def is_full(self) -> bool:
        return self._outbox.is_full

    def offer(self, identity: bytes, event: Event) -> bool:
        """Send `event` to the subscription `identity`; return False if there is no room for it."""
        outbox = self._outbox
        if outbox.output_bytes and not outbox.has_room(event.size):
            return False
        self.deliver(identity, event)
        return True

    def deliver(self, identity: bytes, event: Event) -> None:
        """Send `event` to the subscription `identity`, whether or not there is room."""
        if (connection := self._connection) is None:
            return
        pieces = event.encoded.get(self._encoding)
        if pieces is None:
            pieces = encode_event(event, self._encoding, self._shared.limits.deflate_bytes)
        self._counters.notifications += len(pieces) - 1
        connection.post(identity.join(pieces))

    def fall_behind(self, subscription: Subscription, position: Any, missed: int) -> None:
        """Let `subscription` send its notice and catch up; close the connection if so configured."""
        self._counters.fallen_behind += 1
        subscription.fall_behind(position, missed)
        if self._shared.closes_slow:
            self.close(CloseCode.TRY_AGAIN_LATER, "the client does not keep up with its subscriptions")

    def catch_up(self, subscription: Subscription) -> None:
        """Let `subscription` take steps, in turn with the others that catch up."""
        if self._connection is None:
            return
        if self._behind is None:
            self._behind = OrderedDict()
            self._steps = trio.CancelScope()
            self._connection.start(self._take_steps, self._behind, self._steps)
        self._behind[subscription] = None

    def stop_catching_up(self, subscription: Subscription) -> None:
        if self._behind is not None:
            self._behind.pop(subscription, None)

    def close(self, code: int, reason: str) -> None:
        if self._connection is not None:
            self._connection.close(code, reason)

    def take_pending(self) -> Sequence[Subscription]:
        """Return the subscriptions that calls began since the last call; they begin after their replies."""
        return () if self._subscriptions is None else self._subscriptions.take_pending()

    def discard(self, pending_subscriptions: Sequence[Subscription]) -> None:
        """End subscriptions whose ids are in no reply."""
        for subscription in pending_subscriptions:
            self.subscriptions.remove(subscription.identity)

    def release(self, pending_subscriptions: Sequence[Subscription]) -> None:
        """Begin subscriptions whose replies have been posted."""
        if pending_subscriptions and self._connection is not None:
            self.subscriptions.release(pending_subscriptions)

    def send_final_notices(self) -> None:
        """Send each subscription's last notification, with its position, and end it."""
        if self._subscriptions is not None:
            self._subscriptions.final_notice()

    def end(self) -> None:
        """End every subscription, and send nothing more. May be called again."""
        self._connection = None
        if self._subscriptions is not None:
            self._subscriptions.end_all()
            self._subscriptions = None
        if self._steps is not None:
            self._steps.cancel()

    async def _take_steps(self, behind: OrderedDict[Subscription, None], scope: trio.CancelScope) -> None:
        """Let the subscriptions behind take one step each, in turn, until none is behind.

        One task serves all of them, because a thousand tasks would wake, or end, at one moment.
        """
        try:
            with scope:
                while behind:
                    await self._outbox.wait_half()
                    if behind:
                        await _take_step(behind)
        except Exception:
            logger.exception("a subscription failed to catch up; its connection is closed")
            self.close(CloseCode.INTERNAL_ERROR, "")
        finally:
            self._behind = self._steps = None


async def _take_step(behind: OrderedDict[Subscription, None]) -> None:
    """Let the first subscription take a step; it goes to the end of the queue if it needs another one."""
    subscription, _ = behind.popitem(last=False)
    if await subscription.take_step():
        behind[subscription] = None
