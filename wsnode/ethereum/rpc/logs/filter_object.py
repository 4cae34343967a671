"""The filter object of eth_getLogs."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

from wsnode.ethereum.live.block_barrier import Awaited, NamedBlock
from wsnode.ethereum.logs.filter import MAX_TOPICS, LogFilter
from wsnode.ethereum.primitives.values import Address, Hash32
from wsnode.ethereum.rpc.common.decoding import decode_array, field, kind, mismatch, parse_bytes
from wsnode.ethereum.rpc.common.limits import MAX_VALUES
from wsnode.ethereum.rpc.common.parameters import NumberOrTag, decode_block_number, decode_hash
from wsnode.ethereum.rpc.logs.schemas import FILTER
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import RpcError, invalid_params
from wsnode.jsonrpc.session_limits import check_count

MEMBERS: Final = ("address", "topics", "fromBlock", "toBlock", "blockHash")
MAX_SHOWN: Final = 64
"""The most characters of an unknown name in an error."""


class FilterObject:
    """A filter of logs: of one block or a range, by `addresses` (none: any) and by `topics`.

    `wanted` has the conditions on each log; tags or a hash may stand for the blocks.
    """

    __slots__ = ("block_hash", "from_block", "to_block", "wanted")

    def __init__(self) -> None:
        self.block_hash: Hash32 | None = None
        self.from_block: NumberOrTag | None = None
        self.to_block: NumberOrTag | None = None
        self.wanted = LogFilter()

    def named_blocks(self) -> Iterator[Awaited]:
        """Yield the blocks that it names by number or hash."""
        bounds = (self.from_block, self.to_block)
        yield from (NamedBlock(bound) for bound in bounds if bound is not None and bound >= 0)
        if self.block_hash is not None:
            yield NamedBlock(None, self.block_hash)


def decode_filter_object(value: Any) -> FilterObject:
    """Return the filter that a JSON object describes; names match in any case, unknown ones are ignored.

    Raises:
        ValueError: A member is malformed, or both a block and a range are given.
    """
    if type(value) is not dict:
        raise mismatch(kind(value), "filters.input")
    members = {name.lower(): member for name, member in value.items() if member is not None}
    filter_object = FilterObject()
    if (block_hash := members.get("blockhash")) is not None:
        filter_object.block_hash = decode_hash(block_hash, field("input", "blockHash"))
    if (from_block := members.get("fromblock")) is not None:
        filter_object.from_block = decode_block_number(from_block)
    if (to_block := members.get("toblock")) is not None:
        filter_object.to_block = decode_block_number(to_block)
    topics, addresses = members.get("topics", []), members.get("address")
    decode_array(topics, "[]interface {}", field("input", "topics"))
    if block_hash is not None and not (from_block is None and to_block is None):
        raise ValueError("cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other")
    named = sum(len(each) for each in (addresses, *topics) if type(each) is list)
    check_count(named, MAX_VALUES, "addresses and topics in the filter")
    filter_object.wanted = LogFilter(decode_addresses(addresses), _topics(topics))
    return filter_object


def require_known(
    members: Iterable[str], known: Collection[str], *, in_any_case: Collection[str] = ()
) -> None:
    """Refuse an object that has a member of another name.

    Raises:
        RpcError: One is neither `known` nor one of `in_any_case`, whatever its case.
    """
    folded = {name.lower() for name in in_any_case}
    for name in members:
        if name not in known and name.lower() not in folded:
            nearest = next((each for each in (*known, *in_any_case) if is_near(name, each)), None)
            raise unknown_member(name, nearest, sorted((*known, *in_any_case)))


def refuse_misspelt(members: Iterable[str], known: Collection[str]) -> None:
    """Refuse an object that has one of the `known` names misspelt; all others are ignored, as geth does.

    Raises:
        RpcError: A name is one edit from a known one, or differs in case.
    """
    for name in members:
        if name not in known:
            for each in known:
                if is_near(name, each):
                    raise unknown_member(name, each)


def unknown_member(name: str, nearest: str | None, known: Collection[str] = ()) -> RpcError:
    """Return the error for an unknown member, with the `nearest` known name, or with all `known` names."""
    shown = name[:MAX_SHOWN]
    if nearest is None:
        return invalid_params(f"unknown member {shown}, there are {', '.join(known)}")
    return invalid_params(f"unknown member {shown}, did you mean {nearest}?")


def is_near(name: str, known: str) -> bool:
    """Return True if `name` differs from `known` by at most one edit, apart from case.

    An edit adds, removes or replaces a character, or swaps two adjacent ones.
    """
    name, known = name.lower(), known.lower()
    start = 0
    while start < min(len(name), len(known)) and name[start] == known[start]:
        start += 1
    left, right = name[start:], known[start:]
    return (
        left[1:] == right
        or left == right[1:]
        or left[1:] == right[1:]
        or (left[:2] == right[:2][::-1] and left[2:] == right[2:])
    )


def decode_addresses(value: Any) -> list[Address]:
    """Return the addresses that a string or an array of strings writes; none for null.

    Raises:
        ValueError: One is malformed.
    """
    if value is None:
        return []
    if type(value) is str:
        return [_address(value, "invalid address")]
    if type(value) is not list:
        raise ValueError("invalid addresses in query")
    for index, item in enumerate(value):
        if type(item) is not str:
            _all_addresses(value[:index])
            raise ValueError(f"non-string address at index {index}")
    return _all_addresses(value)


def _all_addresses(texts: list[str]) -> list[Address]:
    return [_address(text, f"invalid address at index {index}") for index, text in enumerate(texts)]


def _address(text: str, label: str) -> Address:
    try:
        return Address(_sized(text, 20, "address"))
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None


def _topics(positions: list[Any]) -> list[list[Hash32]]:
    if len(positions) > MAX_TOPICS:
        raise ValueError("exceed max topics")
    return list(map(_alternatives, positions))


def _alternatives(value: Any) -> list[Hash32]:
    """Return the topics that fit a position; null, alone or in a list, stands for any."""
    if value is None:
        return []
    if type(value) is str:
        return [_topic(value)]
    if type(value) is not list:
        raise ValueError("invalid topic(s)")
    alternatives = []
    for item in value:
        if item is None:
            return []
        alternatives.append(_topic(item))
    return alternatives


def _topic(value: Any) -> Hash32:
    if type(value) is not str:
        raise ValueError("invalid topic(s)")
    return Hash32(_sized(value, 32, "topic"))


def _sized(text: str, size: int, name: str) -> bytes:
    content = parse_bytes(text)
    if len(content) != size:
        raise ValueError(f"hex has invalid length {len(content)} after decoding; expected {size} for {name}")
    return content


register_type(FilterObject, decode_filter_object, FILTER, name="LogFilter")
