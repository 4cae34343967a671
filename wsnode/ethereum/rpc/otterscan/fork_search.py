"""The part of a search for an account's transactions that lies below a fork, as the other node finds it.

Transactions of the fork's first block are among them: to run them would take the state before it.
"""

from collections.abc import Generator
from typing import Any, Final

import msgspec

from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.rpc.common.below_fork import ask_below, unanswered
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.work import Step
from wsnode.untrusted.decoding import JsonDecoder, decode_quantity
from wsnode.upstream.errors import UpstreamError


class _Placed(msgspec.Struct, rename="camel"):
    block_number: str


class _Page(msgspec.Struct, rename="camel"):
    txs: list[msgspec.Raw]
    receipts: list[msgspec.Raw]
    first_page: bool
    last_page: bool


_PAGE: Final = JsonDecoder(_Page)
_PLACED: Final = JsonDecoder(_Placed)


class TransactionPage(msgspec.Struct, frozen=True):
    """Transactions and their receipts, the newest first, up to the first block of a fork."""

    transactions: list[bytes]
    receipts: list[bytes]
    is_done: bool
    """True if no more transactions follow in the direction of the search, up to the first block."""


NONE_OLDER: Final = TransactionPage([], [], is_done=True)


def has_older(view: Snapshot) -> bool:
    """Return True if the blocks below the first one belong to another chain."""
    return view.below is not None and view.earliest > 0


def search_older(
    view: Snapshot, address: bytes, block: int, size: int, *, is_forward: bool
) -> Generator[Step, Any, TransactionPage]:
    """Return the transactions of an account before or after a block, up to the first block here.

    Raises:
        RpcError: The other node does not search, or gives others.
    """
    method = f"ots_searchTransactions{'After' if is_forward else 'Before'}"
    text = yield from ask_below(view, method, [hexadecimal(address), block, size])
    try:
        page = _PAGE.decode(text)
        numbers = [decode_quantity(_PLACED.decode(each).block_number) for each in page.txs]
    except ValueError as error:
        raise unanswered(UpstreamError("invalid", f"{method}: {error}")) from None
    is_fitting = all(number > block if is_forward else number < block for number in numbers)
    if len(page.receipts) != len(numbers) or numbers != sorted(numbers, reverse=True) or not is_fitting:
        raise unanswered(UpstreamError("invalid", f"{method} returned other transactions"))
    # The other chain may have more blocks than this one has of it.
    above = sum(number > view.earliest for number in numbers)
    is_done = page.first_page or above > 0 if is_forward else page.last_page
    return TransactionPage(
        [bytes(each) for each in page.txs[above:]],
        [bytes(each) for each in page.receipts[above:]],
        is_done=is_done,
    )
