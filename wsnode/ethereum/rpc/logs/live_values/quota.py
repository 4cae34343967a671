"""Bounds and options shared by the kinds of eth_subscribe to values of the state."""

from collections.abc import Callable
from functools import partial
from typing import Any

from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.subscription_spec import Extensions
from wsnode.ethereum.live.values.cursor import StateCursor
from wsnode.ethereum.rpc.common.decoding import field
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.logs.transaction_filters import decode_flag
from wsnode.jsonrpc.errors import limit_exceeded
from wsnode.pubsub.subscription import EventChannel, SharedBound


class LiveQuota:
    """The bounds on accounts, slots and calls that subscriptions watch."""

    def __init__(self, hub: Hub, limits: CallLimits) -> None:
        self._hub = hub
        self._limits = limits

    def require_room(self, channel: EventChannel, given: int) -> None:
        """Check that a client may watch `given` values more.

        Raises:
            RpcError: There are too many.
        """
        limits = self._limits
        if given > (most := limits.live_calls_per_subscription):
            raise limit_exceeded("too many live calls of a subscription", {"limit": most, "given": given})
        held = channel.subscriptions.values
        if held + given > (most := limits.live_calls_per_connection):
            raise limit_exceeded("too many live calls on this connection", {"limit": most})
        of_all = channel.subscriptions.live_calls
        if not of_all.admits(channel.subscriptions.client, given):
            raise limit_exceeded("too many live calls", {"limit": of_all.limit})

    def giving_back(self, channel: EventChannel, given: int) -> Callable[[], None]:
        """Return a function that ends the count of a subscription's values."""
        subscriptions = channel.subscriptions
        return partial(self._give_back, subscriptions.live_calls, subscriptions.client, given)

    def take(self, channel: EventChannel, given: int) -> None:
        """Count the values of a subscription that is open now, until it ends."""
        channel.subscriptions.live_calls.take(channel.subscriptions.client, given)
        self._hub.live_calls += given

    def _give_back(self, of_all: SharedBound, client: Any, given: int) -> None:
        of_all.give_back(client, given)
        self._hub.live_calls -= given


def decode_position(members: dict[str, Any]) -> tuple[StateCursor | None, Extensions]:
    """Return the cursor in an object of options, and the form of the notifications.

    Raises:
        ValueError: A member is malformed.
    """
    text = members.get("cursor")
    cursors, reorgs = (decode_flag(members.get(name), field("input", name)) for name in ("cursors", "reorgs"))
    cursor = None if text is None else StateCursor.parse(text)
    return cursor, Extensions(cursors or text is not None, reorgs)
