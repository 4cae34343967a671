"""Pages of events below the first block of a forked chain, fetched from the other chain's node.

Each page continues its position by hashes: each block names its parent. The last fetched block is the parent
of the first block here.
"""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeAlias

import msgspec

from wsnode.ethereum.head import Head
from wsnode.ethereum.live.branches import UnknownPositionError
from wsnode.ethereum.live.contents import HASH_BYTES, BlockContentOptions, Hashes
from wsnode.ethereum.live.pages import PAGE_BYTES, Item, Page
from wsnode.ethereum.live.position import ALL, Position
from wsnode.ethereum.live.subscription_spec import (
    BlockSpec,
    HeaderSpec,
    LogSpec,
    ReceiptSpec,
    StoredSubject,
)
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.logs.upstream_logs import decode_head, fetch_head, fetch_logs
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal
from wsnode.ethereum.snapshot import ForkBackend, Snapshot
from wsnode.untrusted.decoding import JsonDecoder, MalformedError, decode_bytes, decode_quantity
from wsnode.upstream.errors import UpstreamError

HEADERS: Final = 32
BLOCKS: Final = 4
"""Headers in one page; `BLOCKS` is for whole blocks and for receipts. Each page is one batch."""
ATTEMPTS: Final = 3
"""Attempts to fetch a page while the node is busy or the connection is lost."""
FINAL: Final = ("refused", "invalid")
"""Reasons of errors that a repeated call would get again."""
NOT_IN_HEADERS: Final = ("transactions", "uncles", "withdrawals", "size", "totalDifficulty")
LATER_MEMBERS: Final = (
    *("baseFeePerGas", "withdrawalsRoot", "blobGasUsed", "excessBlobGas", "parentBeaconBlockRoot"),
    *("requestsHash", "blockAccessListHash", "slotNumber"),
)
"""Members that are null in a notification before their forks, and missing in a block, as in geth."""

Members: TypeAlias = dict[str, msgspec.Raw]


class PrunedHistoryError(UnknownPositionError):
    """Error of a cursor below a fork's first block, after which the other chain's node returns no events;
    `reason` is that node's message.
    """

    def __init__(self, position: Position, reason: str) -> None:
        super().__init__(position)
        self.reason = reason


class ForkHistory(msgspec.Struct, frozen=True):
    """Part of a forked chain below its first block, read from the other chain's nodes; `last` is the block
    before the first one here.
    """

    below: ForkBackend
    last: Head


def history_of(view: Snapshot, position: Position) -> ForkHistory | None:
    """Return the other chain if a position is below the first block here; None for any other position."""
    first = view.earliest
    if view.below is None or position.number >= first - 1:
        return None
    header = view.header(first)
    assert header is not None
    return ForkHistory(view.below, Head(BlockNumber(first - 1), view.parent_hash(header)))


async def position_before(below: ForkBackend, number: int) -> Position:
    """Return the position before a block of the other chain.

    Raises:
        UpstreamError: The other chain's node does not have the block.
    """
    found = await fetch_head(below, number)
    if found is None:
        raise UpstreamError("invalid", f"the node has no block {number}")
    return Position.after(Head(BlockNumber(number - 1), found.parent))


async def require_on_chain(below: ForkBackend, position: Position) -> None:
    """Check that the block of a position is canonical on the other chain.

    Raises:
        UnknownPositionError: It is not.
        UpstreamError: The other chain's node gives no answer.
    """
    if position.number < 0:
        return
    found = await fetch_head(below, position.number)
    if found is None or found.head != position.head:
        raise UnknownPositionError(position)


async def history_page(history: ForkHistory, subject: StoredSubject, position: Position) -> Page:
    """Return the page of events after a position, up to the last block of the other chain.

    Raises:
        PrunedHistoryError: The other chain's node does not return the events.
        UnknownPositionError: The position's block is not on the other chain.
    """
    for left in reversed(range(ATTEMPTS)):
        try:
            return await _page_of(history, subject, position)
        except MalformedError as error:
            raise PrunedHistoryError(position, error.reason) from None
        except UpstreamError as error:
            if not left or error.reason in FINAL:
                raise PrunedHistoryError(position, str(error)) from None
    raise AssertionError("the last attempt returns or raises")


async def _page_of(history: ForkHistory, subject: StoredSubject, position: Position) -> Page:
    match subject:
        case LogSpec():
            return await _log_page(history, subject.wanted, position)
        case HeaderSpec():
            return await _header_page(history, position)
        case BlockSpec():
            return await _block_page(history, subject.contents, position)
        case ReceiptSpec() if subject.hashes:
            return await _named_receipts(history, subject.hashes, position)
        case ReceiptSpec():
            return await _receipt_page(history, position)
    raise UnknownPositionError(position)


async def _log_page(history: ForkHistory, wanted: LogFilter, position: Position) -> Page:
    await require_on_chain(history.below, position)
    begin = (position.number, position.logs) if position.logs < ALL else (position.number + 1, 0)
    end = history.last.number if wanted.last is None else min(wanted.last, history.last.number)
    found = await fetch_logs(history.below, wanted, max(begin, (wanted.first, 0)), end, room=PAGE_BYTES)
    items = [Item(log.text, Position(log.number, log.hash, log.index + 1)) for log in found.logs]
    number, index = found.following
    if number > end:
        return Page(items, Position.after(history.last))
    if index:
        return Page(items, items[-1].behind)
    before = await fetch_head(history.below, number - 1)
    if before is None:
        raise UpstreamError("invalid", f"the node has no block {number - 1}")
    return Page(items, Position.after(before.head))


async def _header_page(history: ForkHistory, position: Position) -> Page:
    blocks = await _blocks_behind(history, position, HEADERS)
    items = [Item(_header(members), Position(head.number, head.hash, 0)) for head, _text, members in blocks]
    return Page(items, Position.after(blocks[-1][0]))


def _header(members: Members) -> bytes:
    header = {name: text for name, text in members.items() if name not in NOT_IN_HEADERS}
    return msgspec.json.encode(_LATER_MEMBERS | header)


async def _block_page(history: ForkHistory, contents: BlockContentOptions, position: Position) -> Page:
    blocks = await _blocks_behind(history, position, BLOCKS, full=contents.transactions)
    texts = [text for _head, text, _members in blocks]
    if contents.receipts:
        receipts = await _receipts_of(history.below, blocks)
        texts = [b'%b,"receipts":%b}' % (text[:-1], each) for text, each in zip(texts, receipts, strict=True)]
    items = [
        Item(text, Position(head.number, head.hash, 0))
        for text, (head, _text, _members) in zip(texts, blocks, strict=True)
    ]
    return Page(items, Position.after(blocks[-1][0]))


async def _receipt_page(history: ForkHistory, position: Position) -> Page:
    blocks = await _blocks_behind(history, position, BLOCKS)
    receipts = await _receipts_of(history.below, blocks)
    items = [
        Item(text, Position(head.number, head.hash, 0))
        for (head, _text, _members), text in zip(blocks, receipts, strict=True)
        if text != b"[]"
    ]
    return Page(items, Position.after(blocks[-1][0]))


Block: TypeAlias = tuple[Head, bytes, Members]
"""Block, its JSON text, and the JSON text of each of its members."""


async def _blocks_behind(
    history: ForkHistory, position: Position, most: int, *, full: bool = False
) -> list[Block]:
    """Return at most `most` blocks after a position, each the child of the one before.

    Raises:
        UpstreamError: The node does not return the blocks, or returns others.
        UnknownPositionError: The first block is not the child of the position's block.
    """
    last = min(position.number + most, history.last.number)
    calls = [[hex(number), full] for number in range(position.number + 1, last + 1)]
    before, blocks = position.head, list[Block]()
    for text in await history.below.ask_each("eth_getBlockByNumber", calls):
        found = decode_head(text)
        if found is None or found.head.number != before.number + 1:
            raise UpstreamError("invalid", f"the node has no block {before.number + 1}")
        if found.parent != before.hash:
            if not blocks:
                raise UnknownPositionError(position)
            raise UpstreamError("invalid", f"block {found.head.number} is not the child of the one before")
        before = found.head
        blocks.append((before, text.strip(), _MEMBERS.decode(text)))
    if before.number == history.last.number and before != history.last:
        raise UpstreamError("invalid", f"block {before.number} is not the parent of the fork")
    return blocks


async def _receipts_of(below: ForkBackend, blocks: Sequence[Block]) -> list[bytes]:
    """Return the JSON array of each block's receipts.

    Raises:
        UpstreamError: The node does not return all receipts.
    """
    counts = [_count(members) for _head, _text, members in blocks]
    calls = [
        [hexadecimal(head.hash)]
        for (head, _text, _members), count in zip(blocks, counts, strict=True)
        if count
    ]
    given = iter(await below.ask_each("eth_getBlockReceipts", calls) if calls else ())
    texts = [next(given).strip() if count else b"[]" for count in counts]
    for (head, _text, _members), text, count in zip(blocks, texts, counts, strict=True):
        if len(_ITEMS.decode(text) or ()) != count:
            raise UpstreamError("invalid", f"not all receipts of block {head.number}")
    return texts


def _count(members: Members) -> int:
    return len(_ITEMS.decode(members.get("transactions", msgspec.Raw(b"null"))) or ())


class _Receipt(msgspec.Struct, rename="camel"):
    block_number: str
    block_hash: str
    transaction_index: str


async def _named_receipts(history: ForkHistory, hashes: Hashes, position: Position) -> Page:
    """Return a page with the receipts of the named transactions, one item for each block."""
    await require_on_chain(history.below, position)
    calls = [[hexadecimal(wanted)] for wanted in sorted(hashes)]
    given = await history.below.ask_each("eth_getTransactionReceipt", calls)
    found = sorted(each for text in given if (each := _placed(text)) is not None)
    wanted = [each for each in found if position.number < each[0] <= history.last.number]
    items = []
    for (number, block_hash), receipts in groupby(wanted, key=itemgetter(0, 1)):
        texts = [text for _number, _hash, _index, text in receipts]
        items.append(Item(b"[%b]" % b",".join(texts), Position(number, Hash32(block_hash), 0)))
    return Page(items, Position.after(history.last))


def _placed(text: bytes) -> tuple[int, bytes, int, bytes] | None:
    """Return block number, block hash, index and text of a receipt; None for null."""
    receipt = _RECEIPT.decode(text)
    if receipt is None:
        return None
    number, index = decode_quantity(receipt.block_number), decode_quantity(receipt.transaction_index)
    return number, decode_bytes(receipt.block_hash, HASH_BYTES), index, text.strip()


_LATER_MEMBERS: Final[Members] = dict.fromkeys(LATER_MEMBERS, msgspec.Raw(b"null"))
_MEMBERS: Final = JsonDecoder[Members](Members)
_ITEMS: Final = JsonDecoder[list[msgspec.Raw] | None](list[msgspec.Raw] | None)
_RECEIPT: Final = JsonDecoder[_Receipt | None](_Receipt | None)
