"""Logs below the first block of a fork, fetched in ranges by `eth_getLogs` from the other chain's node."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import msgspec

from wsnode.ethereum.codes import PRUNED_HISTORY
from wsnode.ethereum.head import Head
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal
from wsnode.ethereum.snapshot import BlockName, ForkBackend
from wsnode.untrusted.decoding import JsonDecoder, MalformedError, decode_bytes, decode_quantity
from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError

RANGE_BLOCKS: Final = 1000
"""Blocks of one `eth_getLogs`, which public nodes allow; after a refusal fewer are requested."""
RANGES: Final = 16
"""Requests for one page, counting empty and refused ranges."""
RANGES_OF_A_CALL: Final = 64
"""Requests for one `eth_getLogs`; the first is for all its blocks."""
_HASH: Final = 32

LogPosition = tuple[int, int]
"""Number of a block, and index in the block of the first wanted log."""


class UpstreamLog(msgspec.Struct, frozen=True):
    """Log below a fork's first block, from the other chain's node: block number and hash, index in the block,
    and its JSON text.
    """

    number: int
    hash: Hash32
    index: int
    text: bytes

    @property
    def place(self) -> LogPosition:
        return self.number, self.index


class UpstreamLogPage(msgspec.Struct, frozen=True):
    """First matching logs from the other chain's node, and the block and index in it from which the search
    continues.
    """

    logs: Sequence[UpstreamLog]
    following: LogPosition


class _Log(msgspec.Struct, rename="camel"):
    block_number: str
    block_hash: str
    log_index: str


class _Header(msgspec.Struct, rename="camel"):
    number: str
    hash: str
    parent_hash: str


class UpstreamHead(msgspec.Struct, frozen=True):
    """Block of the other chain, and its parent's hash."""

    head: Head
    parent: Hash32


_LOG: Final = JsonDecoder(_Log)
_LOGS: Final = JsonDecoder[list[msgspec.Raw]](list[msgspec.Raw])
_HEADER: Final = JsonDecoder[_Header | None](_Header | None)


def filter_members(wanted: LogFilter) -> dict[str, Any]:
    """Return a filter's addresses and topics as members of its JSON object."""
    addresses = [hexadecimal(address) for address in wanted.addresses]
    topics = [[hexadecimal(topic) for topic in place] or None for place in wanted.topics]
    return ({"address": addresses} if addresses else {}) | {"topics": topics}


async def fetch_head(below: ForkBackend, block: BlockName) -> UpstreamHead | None:
    """Return the block with a number or a hash from the forked chain's node, None if the node has none.

    Raises:
        UpstreamError: The node gives no answer, or an invalid one.
    """
    by_number = isinstance(block, int)
    method = "eth_getBlockByNumber" if by_number else "eth_getBlockByHash"
    text = await below.ask(method, [hex(block) if isinstance(block, int) else hexadecimal(block), False])
    found = decode_head(text)
    if found is not None and block not in (found.head.number, found.head.hash):
        raise UpstreamError("invalid", f"{method} returned another block")
    return found


def decode_head(text: bytes | msgspec.Raw) -> UpstreamHead | None:
    """Return the block of a JSON header or block, None for null.

    Raises:
        UpstreamError: The text is neither.
    """
    try:
        members = _HEADER.decode(text)
        if members is None:
            return None
        number = BlockNumber(decode_quantity(members.number))
        head = Head(number, Hash32(decode_bytes(members.hash, _HASH)))
        return UpstreamHead(head, Hash32(decode_bytes(members.parent_hash, _HASH)))
    except MalformedError as error:
        raise UpstreamError("invalid", error.reason) from None


class UpstreamLogSearch:
    """Search of logs range by range; after a refusal the next range has half as many blocks.

    Providers limit the blocks of a range, the logs of an answer, or its bytes.
    """

    def __init__(
        self,
        below: ForkBackend,
        wanted: LogFilter,
        first: int,
        last: int,
        *,
        span: int | None = None,
        requests: int | None = None,
    ) -> None:
        """Begin a search; the first range has `span` blocks, and at most `requests` are made."""
        self.following = first
        """First block that has not been searched."""
        self._below = below
        self._wanted = wanted
        self._last = last
        self._span = span or RANGE_BLOCKS
        self._left = requests or RANGES

    @property
    def is_over(self) -> bool:
        """Return True if all blocks have been searched, or no requests are left."""
        return self.following > self._last or not self._left

    async def next_range(self) -> list[UpstreamLog]:
        """Return the logs of the next range; an empty list also if no requests are left.

        Raises:
            UpstreamError: The node does not return all logs.
        """
        while not self.is_over:
            self._left -= 1
            end = min(self._last, self.following + self._span - 1)
            try:
                logs = await _logs_of_range(self._below, self._wanted, self.following, end)
            except UpstreamError as error:
                if not _may_be_too_much(error) or end == self.following:
                    raise
                self._span = (end - self.following + 1) // 2
                if error.reason == "timeout":
                    # After a timeout the call has no time for many more requests of this length.
                    self._span = min(self._span, RANGE_BLOCKS)
                continue
            self.following = end + 1
            return logs
        return []


async def fetch_logs(
    below: ForkBackend,
    wanted: LogFilter,
    begin: LogPosition,
    last: int,
    *,
    room: int,
    most: int | None = None,
) -> UpstreamLogPage:
    """Return the first matching logs from a position on, up to the block `last`.

    At most `most` logs, as many as fit into `room` bytes with a comma after each; at least one if any
    matches. Each request is for a range of blocks, shorter after a refusal.

    Raises:
        UpstreamError: The node does not return all logs.
    """
    search, found = UpstreamLogSearch(below, wanted, begin[0], last), list[UpstreamLog]()
    while not search.is_over:
        for log in await search.next_range():
            if log.place < begin:
                continue
            room -= len(log.text) + 1
            if found and (room < 0 or len(found) == most):
                return UpstreamLogPage(found, log.place)
            found.append(log)
    return UpstreamLogPage(found, begin if search.following == begin[0] else (search.following, 0))


def _may_be_too_much(error: UpstreamError) -> bool:
    """Return True if the node may answer for fewer blocks."""
    if isinstance(error, UpstreamRefusedError):
        return error.may_be_about_size and error.code != PRUNED_HISTORY
    return error.reason in ("invalid", "timeout")


async def _logs_of_range(below: ForkBackend, wanted: LogFilter, first: int, last: int) -> list[UpstreamLog]:
    bounds = {"fromBlock": hex(first), "toBlock": hex(last)}
    return decode_logs(await below.ask("eth_getLogs", [filter_members(wanted) | bounds]), first, last)


def decode_logs(text: bytes, first: int, last: int) -> list[UpstreamLog]:
    """Return the logs in JSON text, of the blocks `first` to `last` in the chain's order.

    Raises:
        UpstreamError: The text is malformed, or has logs of other blocks or in another order.
    """
    try:
        logs = [_decode_log(each) for each in _LOGS.decode(text)]
    except MalformedError as error:
        raise UpstreamError("invalid", error.reason) from None
    places = [(first, -1), *(log.place for log in logs)]
    if places[-1][0] > last or any(place >= after for place, after in pairwise(places)):
        raise UpstreamError("invalid", "eth_getLogs has logs of other blocks, or in another order")
    return logs


def _decode_log(text: msgspec.Raw) -> UpstreamLog:
    log = _LOG.decode(text)
    return UpstreamLog(
        decode_quantity(log.block_number),
        Hash32(decode_bytes(log.block_hash, _HASH)),
        decode_quantity(log.log_index),
        bytes(text),
    )
