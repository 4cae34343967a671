"""`calls`, a kind of eth_subscribe: outcomes of calls that are sent again when they change."""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any

import msgspec

from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.subscription_spec import Extensions
from wsnode.ethereum.live.values.call_subscription import CallSubscription
from wsnode.ethereum.live.values.calls import CallBounds, CallFeed
from wsnode.ethereum.live.values.cursor import StateCursor
from wsnode.ethereum.not_found import no_state
from wsnode.ethereum.rpc.calls.call_object import (
    CallObject,
    check_accesses,
    check_authorizations,
    decode_call_object,
)
from wsnode.ethereum.rpc.calls.message import message_of
from wsnode.ethereum.rpc.calls.param_contracts import targets
from wsnode.ethereum.rpc.common.decoding import field, kind, mismatch
from wsnode.ethereum.rpc.common.limits import MAX_LIVE, CallLimits
from wsnode.ethereum.rpc.logs.filter_object import require_known
from wsnode.ethereum.rpc.logs.live_values.quota import LiveQuota, decode_position
from wsnode.ethereum.state import Message
from wsnode.ethereum.state_fetchers import StateFetchers
from wsnode.jsonrpc.errors import RpcError, invalid_params
from wsnode.jsonrpc.resource_quota import quota_key
from wsnode.jsonrpc.session_limits import check_count
from wsnode.pubsub.subscription import EventChannel


class CallOptions(msgspec.Struct, frozen=True):
    """Calls that are watched, and the form of the notifications."""

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
    """Maker of subscriptions to outcomes of calls, within their bounds."""

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
