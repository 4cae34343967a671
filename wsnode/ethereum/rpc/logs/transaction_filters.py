"""Objects that select transactions, pending or in blocks."""

from typing import Any, Final

from wsnode.ethereum.live.contents import MinedFilter, TransactionFilter
from wsnode.ethereum.live.pending_feed import PendingSpec
from wsnode.ethereum.live.subscription_spec import MinedSpec
from wsnode.ethereum.primitives.values import Address
from wsnode.ethereum.rpc.common.decoding import ARGUMENT, decode_array, field, kind, mismatch
from wsnode.ethereum.rpc.common.parameters import decode_address
from wsnode.ethereum.rpc.logs.filter_object import decode_addresses, require_known
from wsnode.ethereum.rpc.logs.schemas import MAX_ADDRESSES, SELECTION
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.session_limits import check_count

OF_PENDING: Final = ("fromAddress", "toAddress")
"""The members of an object that selects pending transactions."""
_OF_MINED: Final = ("addresses", "includeRemoved", "hashesOnly")


class Selection:
    """Filter of pending transactions as an object: `fromAddress` and `toAddress`, arrays of addresses; a
    transaction with any of them is selected.
    """

    __slots__ = ("wanted",)

    def __init__(self, wanted: TransactionFilter) -> None:
        self.wanted = wanted


def decode_flag(value: Any, place: str = ARGUMENT) -> bool:
    """Return True for true, False for false and null.

    Raises:
        ValueError: It is something else.
    """
    if type(value) not in (bool, type(None)):
        raise mismatch(kind(value), "bool", place)
    return bool(value)


def decode_pending_filter(members: dict[str, Any]) -> TransactionFilter:
    """Return the filter that the members of an object describe.

    Raises:
        ValueError: An address is malformed, or there are too many.
    """
    given = [members.get(name) for name in OF_PENDING]
    count = sum(len(each) for each in given if type(each) is list)
    check_count(count, MAX_ADDRESSES, "addresses in fromAddress and toAddress")
    senders, receivers = (None if each is None else _set_of(decode_addresses(each)) for each in given)
    return TransactionFilter(senders, receivers)


def decode_pending(value: Any) -> PendingSpec:
    """Return the subject in an object of alchemy_pendingTransactions.

    Raises:
        ValueError: A member is malformed.
        RpcError: A member is unknown.
    """
    members = _members(value, (*OF_PENDING, "hashesOnly"))
    full = not decode_flag(members.get("hashesOnly"), field("input", "hashesOnly"))
    return PendingSpec(full, decode_pending_filter(members))


def _decode_selection(value: Any) -> Selection:
    return Selection(decode_pending_filter(_members(value, OF_PENDING)))


def decode_mined(value: Any) -> MinedSpec:
    """Return the subject in an object of alchemy_minedTransactions.

    Raises:
        ValueError: A member is malformed.
        RpcError: A member is unknown.
    """
    members = _members(value, _OF_MINED)
    with_removed, hashes_only = (
        decode_flag(members.get(name), field("input", name)) for name in ("includeRemoved", "hashesOnly")
    )
    return MinedSpec(_mined_filter(members.get("addresses")), hashes_only, with_removed)


def _mined_filter(value: Any) -> MinedFilter:
    if value is None:
        return MinedFilter()
    decode_array(value, "[]filters.parties", field("input", "addresses"))
    check_count(len(value), MAX_ADDRESSES, "entries in addresses")
    return MinedFilter(frozenset(map(_pair, value)))


def _pair(value: Any) -> tuple[bytes | None, bytes | None]:
    if type(value) is not dict:
        raise mismatch(kind(value), "filters.parties", field("input", "addresses"))
    require_known(value, ("from", "to"))
    sender, receiver = (
        None if (text := value.get(name)) is None else bytes(decode_address(text, field("parties", name)))
        for name in ("from", "to")
    )
    if sender is None and receiver is None:
        raise ValueError("an entry of addresses names neither from nor to")
    return sender, receiver


def _members(value: Any, known: tuple[str, ...]) -> dict[str, Any]:
    if value is None:
        return {}
    if type(value) is not dict:
        raise mismatch(kind(value), "filters.input")
    require_known(value, known)
    members: dict[str, Any] = value
    return members


def _set_of(addresses: list[Address]) -> frozenset[bytes]:
    return frozenset(map(bytes, addresses))


register_type(Selection, _decode_selection, SELECTION)
