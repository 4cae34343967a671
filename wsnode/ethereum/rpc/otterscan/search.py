"""ots_searchTransactions…: pages of the transactions that involve an account."""

import time
from collections.abc import Generator, Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.chain_tables import LogCriteria
from wsnode.ethereum.codec.rendering import stored_receipt, stored_transaction
from wsnode.ethereum.codec.rows import Rows, header_fields, transaction_count, transaction_hashes
from wsnode.ethereum.logs.index import LogMatches, search_logs
from wsnode.ethereum.not_found import header_not_found
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.rpc.common.below_fork import ask_below, unanswered
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.lookup import require_kept, rows
from wsnode.ethereum.rpc.common.worker_thread import SMALL_BYTES, Tracing, run_in_thread
from wsnode.ethereum.rpc.otterscan.blocks import with_time
from wsnode.ethereum.rpc.otterscan.parameters import SearchParameters
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import CancelFlag, ReorganisedError, parity_touching
from wsnode.jsonrpc.errors import invalid_params, limit_exceeded, response_too_large, server_error
from wsnode.jsonrpc.work import JsonText, Step
from wsnode.untrusted.decoding import JsonDecoder, decode_quantity
from wsnode.upstream.errors import UpstreamError

FIRST_WINDOW: Final = 1 << 12
"""Blocks of the first window in which changes and logs are looked up; each further window is twice as
long."""
MAX_FOUND: Final = 4096
"""Maximum number of changes or logs of a window, beyond which it is halved: some milliseconds."""
EMPTY_AT_ONCE: Final = 128


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
    """Transactions below a fork's first block that involve an account, as JSON texts with their receipts,
    newest first.
    """

    transactions: list[bytes]
    receipts: list[bytes]
    is_done: bool
    """True if no more transactions follow in the direction of the search, up to the first block."""


NONE_OLDER: Final = TransactionPage([], [], is_done=True)


class CandidateBlocks:
    """Numbers of the blocks to search for an account's transactions, from `start` to one end of the chain.
    All blocks are searched until `every` transactions have been read; after these, only blocks with a change
    of the account's nonce, balance or code, or with a log of it.
    """

    def __init__(self, view: Snapshot, address: bytes, start: int, *, is_forward: bool, every: int) -> None:
        self._view = view
        self._address = address
        self._place = start
        self._is_forward = is_forward
        self._every = every
        self._lowest = view.earliest and view.earliest + 1
        """First block whose transactions can be executed: the state before it is stored."""

    def __iter__(self) -> Iterator[int | None]:
        """Yield the numbers of blocks, and None where the search may pause for other callers.

        Raises:
            RpcError: The search needs the state below the first block of a chain that is no fork.
        """
        yield from self._each()
        yield from self._of_history()

    @property
    def _is_done(self) -> bool:
        if not 0 <= self._place <= self._view.number:
            return True
        if self._place < self._lowest and has_older(self._view):
            return True
        require_kept(self._view, max(self._place - 1, 0))
        return False

    def _each(self) -> Iterator[int | None]:
        left, step = self._every, 1 if self._is_forward else -1
        empty = 0
        while left > 0 and not self._is_done:
            body = self._view.view_body(self._place)
            count = 0 if body is None else transaction_count(body)
            number, self._place = self._place, self._place + step
            left -= max(count, 1)
            empty = 0 if count else empty + 1
            if count:
                yield number
            elif empty % EMPTY_AT_ONCE == 0:
                yield None

    def _of_history(self) -> Iterator[int | None]:
        size = FIRST_WINDOW
        while not self._is_done:
            first, last = self._window(size)
            found = yield from self._in_window(first, last)
            if found is None and size > 1:
                size //= 2
                continue
            yield from range(first, last + 1) if found is None else found
            self._place = last + 1 if self._is_forward else first - 1
            size *= 2

    def _window(self, size: int) -> tuple[int, int]:
        if self._is_forward:
            return self._place, min(self._place + size - 1, self._view.number)
        return max(self._place - size + 1, self._lowest), self._place

    def _in_window(self, first: int, last: int) -> Generator[None, None, list[int] | None]:
        """Return the blocks of a window in the order of the search, None if they are too many."""
        changes = self._changes(first, last)
        logs = yield from _logs(self._view, self._address, first, last)
        if len(changes) > MAX_FOUND or logs.exceeded:
            return None
        found = {*changes, *(block.number for block in logs.blocks)}
        return sorted(found, reverse=not self._is_forward)

    def _changes(self, first: int, last: int) -> list[int]:
        view = self._view
        try:
            found = view.state.changes_of(
                self._address,
                (view.number, view.head.hash),
                first if self._is_forward else last,
                is_forward=self._is_forward,
                limit=MAX_FOUND + 1,
            )
        except ReorganisedError:
            raise header_not_found() from None
        return [number for number in found if first <= number <= last]


def _logs(view: Snapshot, address: bytes, first: int, last: int) -> Generator[None, None, LogMatches]:
    return search_logs(view.reader, LogCriteria([address], ()), first, last, limit=MAX_FOUND)


BLOCKS_AT_ONCE: Final = 16
HASH_SIZE: Final = 32

Looking = Generator[Step, Any, bool]


class SearchPage:
    """Result of ots_searchTransactions… so far: the transactions found, in the order of the search, and the
    last block searched.
    """

    def __init__(self, view: Snapshot, address: bytes, size: int, *, is_forward: bool) -> None:
        self.view = view
        self.address = address
        self.size = size
        self.is_forward = is_forward
        self.found: list[tuple[bytes, int]] = []
        self.last: int | None = None
        self.older = NONE_OLDER
        """Transactions up to the first block of a fork, with which `size` does not count."""

    @property
    def is_full(self) -> bool:
        """Return True if the page has its requested size; a block's transactions stay on one page."""
        return len(self.found) >= self.size

    def look(self, chunk: list[tuple[int, Rows]], limits: CallLimits, flag: CancelFlag) -> bool | str:
        """Add the transactions of some blocks, in a worker thread, until the page is full."""
        for number, found in chunk:
            if self.is_full:
                break
            indices = parity_touching(
                self.view.state,
                found,
                self.address,
                seconds=limits.trace_seconds,
                size=limits.trace_bytes,
                cancel=flag,
            )
            if isinstance(indices, str):
                return indices
            self._add(found, indices)
            self.last = number
        return True

    def _add(self, found: Rows, indices: list[int]) -> None:
        hashes, timestamp = transaction_hashes(found[1]), header_fields(found[0]).timestamp
        for index in indices if self.is_forward else reversed(indices):
            self.found.append((hashes[HASH_SIZE * index : HASH_SIZE * (index + 1)], timestamp))

    def render(self, most: int, *, is_first: bool, is_last: bool) -> JsonText:
        """Return the JSON text of the page, the newest transactions first."""
        reader, shown = self.view.reader, self.found[::-1] if self.is_forward else self.found
        transactions, receipts, size = [], [], 0
        for transaction_hash, timestamp in shown:
            transaction = stored_transaction(reader, transaction_hash)
            receipt = stored_receipt(reader, transaction_hash)
            assert transaction is not None, "a transaction of a canonical block is found"
            assert receipt is not None, "and so is its receipt"
            transactions.append(transaction)
            receipts.append(with_time(receipt, timestamp))
            size += len(transaction) + len(receipt)
            if size > most:
                raise response_too_large()
        transactions += self.older.transactions
        receipts += self.older.receipts
        return b'{"txs":[%b],"receipts":[%b],"firstPage":%b,"lastPage":%b}' % (
            b",".join(transactions),
            b",".join(receipts),
            b"true" if is_first else b"false",
            b"true" if is_last else b"false",
        )


class TransactionSearchMethods:
    """Handlers of ots_searchTransactions…, within their limits."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self.timed_out = server_error("execution timeout")

    def search_before(self, view: Snapshot, params: SearchParameters) -> Tracing:
        """Return a page of the transactions that involve an account, before a block (0: up to the head)."""
        page = self._page(view, params, is_forward=False)
        is_newest = params.block == 0
        start = view.number if is_newest else min(params.block - 1, view.number)
        is_done = yield from self._fill(page, start)
        if is_done and has_older(view):
            before = view.earliest + 1 if is_newest else min(params.block, view.earliest + 1)
            page.older = yield from self._older(page, before, params.page_size - len(page.found))
            is_done = page.older.is_done
        return page.render(self._limits.trace_bytes, is_first=is_newest, is_last=is_done)

    def search_after(self, view: Snapshot, params: SearchParameters) -> Tracing:
        """Return a page of the transactions that involve an account, after a block (0: from the genesis)."""
        page = self._page(view, params, is_forward=True)
        is_oldest = params.block == 0
        start = 0 if is_oldest else params.block + 1
        if has_older(view) and start <= view.earliest:
            page.older = yield from self._older(page, params.block, params.page_size)
            page.size -= len(page.older.transactions)
            start = view.earliest + 1
        is_done = page.older.is_done and (yield from self._fill(page, start))
        return page.render(self._limits.trace_bytes, is_first=is_done, is_last=is_oldest)

    def _older(self, page: SearchPage, block: int, size: int) -> Generator[Step, Any, TransactionPage]:
        return search_older(page.view, page.address, block, size, is_forward=page.is_forward)

    def _page(self, view: Snapshot, params: SearchParameters, *, is_forward: bool) -> SearchPage:
        most = self._limits.search_page
        if params.page_size > most:
            raise invalid_params(f"max allowed page size: {most}", {"limit": most})
        return SearchPage(view, params.address, params.page_size, is_forward=is_forward)

    def _fill(self, page: SearchPage, start: int) -> Looking:
        """Search until the page is full or the time is up; return True if the chain's end was reached.

        Raises:
            RpcError: The time is up and the page is empty.
        """
        limits, end = self._limits, time.monotonic() + self._limits.search_seconds
        every = limits.search_transactions
        numbers = iter(
            CandidateBlocks(page.view, page.address, start, is_forward=page.is_forward, every=every)
        )
        while not page.is_full:
            if time.monotonic() >= end:
                if not page.found and not page.older.transactions:
                    raise _nothing_yet(page)
                return False
            chosen = list(islice(numbers, BLOCKS_AT_ONCE))
            if not chosen:
                return True
            chunk = [(number, _rows(page.view, number)) for number in chosen if number]
            if chunk:
                yield from self._look(page, chunk)
            else:
                yield None
        return False

    def _look(self, page: SearchPage, chunk: list[tuple[int, Rows]]) -> Generator[Step, Any, None]:
        # The page holds the results beside the earlier ones, and the thread returns only a status, so
        # `SMALL_BYTES` are enough.
        yield from run_in_thread(
            lambda flag, _most: page.look(chunk, self._limits, flag), SMALL_BYTES, self.timed_out
        )


def _rows(view: Snapshot, number: int) -> Rows:
    found = rows(view, number)
    assert found is not None, f"block {number} is canonical"
    return found


def _nothing_yet(page: SearchPage) -> Exception:
    place = {} if page.last is None else {"block": hex(page.last)}
    return limit_exceeded("search timeout exceeded", {"reason": "search_seconds", **place})


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
    # The other chain may have more blocks than this one has of it, so transactions above the first block here
    # are dropped.
    above = sum(number > view.earliest for number in numbers)
    is_done = page.first_page or above > 0 if is_forward else page.last_page
    return TransactionPage(
        [bytes(each) for each in page.txs[above:]],
        [bytes(each) for each in page.receipts[above:]],
        is_done=is_done,
    )
