"""Kinds of eth_subscribe to values of the state: `state`, accounts and slots, and `calls`, outcomes of calls.

They are sent again when they change.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any

import msgspec

from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.subscription_spec import Extensions
from wsnode.ethereum.live.values.call_runs import CallBounds
from wsnode.ethereum.live.values.calls import CallFeed
from wsnode.ethereum.live.values.feed import StateFeed
from wsnode.ethereum.live.values.proved_feed import ProvedStateFeed
from wsnode.ethereum.live.values.subscription import (
    CallSubscription,
    ProvedStateSubscription,
    StateSubscription,
)
from wsnode.ethereum.live.values.watched_values import ADDRESS_BYTES, Key, StateCursor, read_values
from wsnode.ethereum.not_found import no_state
from wsnode.ethereum.rpc.calls.call_object import (
    CallObject,
    check_accesses,
    check_authorizations,
    decode_call_object,
)
from wsnode.ethereum.rpc.calls.message import message_of, targets
from wsnode.ethereum.rpc.common.decoding import field, kind, mismatch
from wsnode.ethereum.rpc.common.limits import MAX_LIVE, CallLimits
from wsnode.ethereum.rpc.common.parameters import decode_address, numbers, slot_of
from wsnode.ethereum.rpc.logs.filter_object import require_known
from wsnode.ethereum.rpc.logs.transaction_filters import decode_flag
from wsnode.ethereum.state import Message
from wsnode.ethereum.state_fetchers import StateFetchers
from wsnode.jsonrpc.errors import RpcError, invalid_params, limit_exceeded
from wsnode.jsonrpc.resource_quota import quota_key
from wsnode.jsonrpc.session_limits import check_count
from wsnode.pubsub.subscription import EventChannel, SharedBound, Subscription


class LiveQuota:
    """Quota of accounts, slots and calls watched by subscriptions: checks and counts them for each
    subscription, connection and process.
    """

    def __init__(self, hub: Hub, limits: CallLimits) -> None:
        self._hub = hub
        self._limits = limits

    def require_room(self, channel: EventChannel, given: int) -> None:
        """Check that a client may watch `given` more values.

        Raises:
            RpcError: A bound of the subscription, the connection or the process is exceeded.
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


class StateOptions(msgspec.Struct, frozen=True):
    """Options of a subscription to `state`: the accounts and slots to watch, the cursor to resume from, None
    to begin with all values, and the form of the notifications.
    """

    keys: tuple[Key, ...]
    """Keys of accounts and slots, each once and in order."""
    given: int
    """Number of accounts and slots that were named, repetitions included."""
    cursor: StateCursor | None
    form: Extensions

    @property
    def contracts(self) -> list[int]:
        return numbers({key[:ADDRESS_BYTES] for key in self.keys})


class StateSubscriptionFactory:
    """Factory of subscriptions to `state`, within the quotas of accounts and slots."""

    def __init__(self, hub: Hub, limits: CallLimits, quota: LiveQuota) -> None:
        self._hub = hub
        self._limits = limits
        self._quota = quota
        self._feed = StateFeed(hub)
        self._proved = ProvedStateFeed(hub, limits.live_proofs)

    def subscribe(self, channel: EventChannel, options: StateOptions) -> Subscription:
        """Return a new subscription.

        Raises:
            RpcError: There are too many values, or the state is not known here.
            MissingStateError: Of a forked chain, a value is not known yet.
        """
        self._quota.require_room(channel, options.given)
        with self._hub.snapshot() as view:
            if view.is_light:
                self._require_provable(options.keys)
            elif view.below is not None:
                # A forked chain fetches its missing values now, so that the publishing of blocks does not
                # wait for them.
                read_values(view.state, view.head, options.keys)
        made = (
            partial(ProvedStateSubscription, channel, self._hub, self._proved)
            if view.is_light
            else partial(StateSubscription, channel, self._hub, self._feed)
        )
        on_end = self._quota.giving_back(channel, options.given)
        return made(options.keys, options.form, options.cursor, options.given, on_end)

    def _require_provable(self, keys: Sequence[Key]) -> None:
        if self._hub.proof_source is None:
            raise no_state()
        accounts = len({key[:ADDRESS_BYTES] for key in keys})
        # The account of a slot is proved as well, so it counts even if only the slot is named.
        given = accounts + sum(len(key) > ADDRESS_BYTES for key in keys)
        if given > (most := self._limits.live_proofs):
            raise limit_exceeded("too many live calls of a subscription", {"limit": most, "given": given})


def decode_state(value: Any) -> StateOptions:
    """Return the options in an object of `state`.

    Raises:
        ValueError: A member is malformed, or no account or slot is named.
        RpcError: A member is unknown.
    """
    if type(value) is not dict:
        raise mismatch(kind(value), "filters.input")
    require_known(value, ("accounts", "slots", "cursors", "cursor", "reorgs"))
    keys = [*_accounts(value.get("accounts")), *_slots(value.get("slots"))]
    if not keys:
        raise ValueError("state names neither accounts nor slots")
    return StateOptions(tuple(sorted(set(keys))), len(keys), *decode_position(value))


def _accounts(value: Any) -> Iterator[Key]:
    if value is None:
        return
    if type(value) is not list:
        raise mismatch(kind(value), "[]common.Address", field("input", "accounts"))
    check_count(len(value), MAX_LIVE, "accounts")
    for text in value:
        yield bytes(decode_address(text, field("input", "accounts")))


def _slots(value: Any) -> Iterator[Key]:
    if value is None:
        return
    if type(value) is not dict:
        raise mismatch(kind(value), "map[common.Address][]common.Hash", field("input", "slots"))
    count = sum(max(len(some), 1) if type(some) is list else 1 for some in value.values())
    check_count(count, MAX_LIVE, "slots")
    for address, some in value.items():
        if type(some) is not list:
            raise mismatch(kind(some), "[]common.Hash", field("input", "slots"))
        account = bytes(decode_address(address, field("input", "slots")))
        for text in some:
            if type(text) is not str:
                raise mismatch(kind(text), "common.Hash", field("input", "slots"))
            yield account + slot_of(text)


class CallOptions(msgspec.Struct, frozen=True):
    """Options of a subscription to `calls`: the calls to watch, the cursor to resume from, None to begin with
    all outcomes, and the form of the notifications.
    """

    key: bytes
    """Digest of the calls as they were written."""
    calls: tuple[CallObject, ...]
    cursor: StateCursor | None
    form: Extensions

    @property
    def contracts(self) -> Iterable[int] | None:
        """Return the contracts that are called, as numbers; None if their code can read any contract."""
        return targets(self.calls)


class CallSubscriptionFactory:
    """Factory of subscriptions to `calls`, within the quota of calls."""

    def __init__(
        self,
        hub: Hub,
        limits: CallLimits,
        quota: LiveQuota,
        fetchers: Callable[[], StateFetchers | None],
    ) -> None:
        self._hub = hub
        self._quota = quota
        self._gas = limits.live_call_gas
        bounds = CallBounds(
            limits.live_call_gas,
            limits.call_gas_blocks,
            limits.live_reads,
            limits.live_bytes,
            limits.call_seconds,
            limits.live_share,
            limits.live_proofs,
        )
        self.feed = CallFeed(hub, bounds, fetchers)
        hub.live_table = self.feed.table

    def subscribe(self, channel: EventChannel, options: CallOptions) -> CallSubscription:
        """Return a new subscription.

        Raises:
            RpcError: A call is impossible or has too much gas, there are too many, or the state is not kept.
        """
        count = len(options.calls)
        with self._hub.snapshot() as view:
            if view.is_light and self._hub.proof_source is None:
                raise no_state()
            messages = [
                self._message(index, call, view.spec.chain_id) for index, call in enumerate(options.calls)
            ]
        self._quota.require_room(channel, count)
        self.feed.require_room(messages)
        channel.subscriptions.charge(count)
        client = id(quota_key(channel.subscriptions.client))
        return CallSubscription(
            channel,
            self._hub,
            self.feed,
            options.key,
            messages,
            client,
            options.form,
            options.cursor,
            self._quota.giving_back(channel, count),
        )

    def _message(self, index: int, call: CallObject, chain_id: int) -> Message:
        if call.gas is not None and call.gas > self._gas:
            message = f"invalid argument 1: calls[{index}].gas: a live call may have at most {self._gas} gas"
            raise invalid_params(message)
        try:
            return message_of(call, chain_id=chain_id, with_base_fee=True)
        except RpcError as error:
            raise invalid_params(f"invalid argument 1: calls[{index}]: {error.message}") from None


def decode_calls(value: Any) -> CallOptions:
    """Return the options in an object of `calls`.

    Raises:
        ValueError: A member is malformed, or there is no call.
        RpcError: A member is unknown.
    """
    if type(value) is not dict:
        raise mismatch(kind(value), "filters.input")
    require_known(value, ("calls", "cursors", "cursor", "reorgs"))
    given = value.get("calls")
    if type(given) is not list:
        raise mismatch(kind(given), "[]ethapi.TransactionArgs", field("input", "calls"))
    check_count(len(given), MAX_LIVE, "calls")
    if not given:
        raise ValueError("calls is empty")
    check_accesses(given)
    check_authorizations(given)
    calls = tuple(_call(index, call) for index, call in enumerate(given))
    key = blake2b(msgspec.json.encode(given), digest_size=32).digest()
    return CallOptions(key, calls, *decode_position(value))


def _call(index: int, value: Any) -> CallObject:
    try:
        return decode_call_object(value)
    except ValueError as error:
        raise ValueError(f"calls[{index}]: {error}") from None
