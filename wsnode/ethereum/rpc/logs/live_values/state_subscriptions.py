"""`state`, a kind of eth_subscribe: values of the state that are sent again when they change."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.subscription_spec import Extensions
from wsnode.ethereum.live.values.cursor import StateCursor
from wsnode.ethereum.live.values.feed import StateFeed
from wsnode.ethereum.live.values.proved_feed import ProvedStateFeed
from wsnode.ethereum.live.values.proved_subscription import ProvedStateSubscription
from wsnode.ethereum.live.values.subscription import StateSubscription
from wsnode.ethereum.live.values.watched_values import ADDRESS_BYTES, Key, read_values
from wsnode.ethereum.not_found import no_state
from wsnode.ethereum.rpc.common.decoding import field, kind, mismatch
from wsnode.ethereum.rpc.common.limits import MAX_LIVE, CallLimits
from wsnode.ethereum.rpc.common.param_contracts import numbers
from wsnode.ethereum.rpc.common.parameters import decode_address, slot_of
from wsnode.ethereum.rpc.logs.filter_object import require_known
from wsnode.ethereum.rpc.logs.live_values.quota import LiveQuota, decode_position
from wsnode.jsonrpc.errors import limit_exceeded
from wsnode.jsonrpc.session_limits import check_count
from wsnode.pubsub.subscription import EventChannel, Subscription


class StateOptions(msgspec.Struct, frozen=True):
    """Keys that are watched, and the form of the notifications."""

    keys: tuple[Key, ...]
    """Each once, in order."""
    given: int
    """The number of accounts and slots that were named."""
    cursor: StateCursor | None
    form: Extensions

    @property
    def contracts(self) -> list[int]:
        """Return the accounts that are named, as numbers."""
        return numbers({key[:ADDRESS_BYTES] for key in self.keys})


class StateSubscriptionFactory:
    """Maker of subscriptions to values, within their bounds."""

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
                # What a forked chain does not know yet is fetched now, not while blocks are published.
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
        # A slot is proved with its account.
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
