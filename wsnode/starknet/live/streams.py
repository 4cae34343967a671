"""Streams of subscriptions: the items of each kind in a block, in the order of the block."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from wsnode.starknet.body import StoredBody, hashed_transaction, placed_receipt, transaction_status
from wsnode.starknet.events import EmittedEvent, EventFilter, without_places
from wsnode.starknet.felt import felt_text
from wsnode.starknet.header_json import without_commitments
from wsnode.starknet.live.contents import BlockContents, UnstoredTransactions
from wsnode.starknet.live.position import WHOLE
from wsnode.starknet.snapshot import StarknetSnapshot

Place: TypeAlias = tuple[int, int]
"""Position within a block: number of transactions before it, and of events of the next transaction."""
Item: TypeAlias = tuple[Place, bytes]
"""Place after an item, and the JSON of its notification's result."""

_FIRST: Final[Place] = (0, 0)


class Stream(Protocol):
    """Content of a subscription, its kind and filter, which yields the items of each block. Equal streams are
    rendered once for all their subscriptions.
    """

    @property
    def kind(self) -> str:
        """Return the name under which such subscriptions are counted."""
        ...

    @property
    def notification(self) -> bytes:
        """Return the end of the notifications' method name, after `_subscription`."""
        ...

    @property
    def weight(self) -> int:
        """Return the number of addresses, keys and hashes in the parameters."""
        ...

    def next_block(self, view: StarknetSnapshot, first: int, last: int) -> int:
        """Return the number of the first block from `first` on that may have items; above `last` if none."""
        ...

    def items(self, block: BlockContents, behind: Place = _FIRST, *, is_before_0_10: bool) -> Iterator[Item]:
        """Yield the items of a block after place `behind`, each as its place and its JSON.

        Raises:
            BodyUnavailableError: The block has no transactions here.
        """
        ...

    def unstored_items(self, found: UnstoredTransactions, *, is_before_0_10: bool) -> Iterator[bytes]:
        """Yield the JSON of the items of transactions that no stored block has."""
        ...


class _OfEveryBlock(msgspec.Struct, frozen=True):
    def next_block(self, _view: StarknetSnapshot, first: int, _last: int) -> int:
        return first


class HeadStream(_OfEveryBlock, frozen=True):
    """Stream of the header of each block."""

    kind = "newHeads"
    notification = b"NewHeads"
    weight = 0

    def items(self, block: BlockContents, behind: Place = _FIRST, *, is_before_0_10: bool) -> Iterator[Item]:
        """Yield the header as place and JSON; its place is the end of the block."""
        if behind < (WHOLE, 0):
            yield (WHOLE, 0), without_commitments(block.header) if is_before_0_10 else block.header

    def unstored_items(self, found: UnstoredTransactions, *, is_before_0_10: bool) -> Iterator[bytes]:
        """Yield nothing: such transactions have no header."""
        del found, is_before_0_10
        yield from ()


class EventSpec(_OfEveryBlock, frozen=True):
    """Events that match a filter."""

    addresses: tuple[str, ...] = ()
    keys: tuple[tuple[str, ...], ...] = ()
    pre_confirmed: bool = False
    """True if events of the pre-confirmed block are wanted too."""

    kind = "events"
    notification = b"Events"

    @property
    def weight(self) -> int:
        return len(self.addresses) + sum(map(len, self.keys))

    def items(self, block: BlockContents, behind: Place = _FIRST, *, is_before_0_10: bool) -> Iterator[Item]:
        wanted = _filter_of(self)
        if not wanted.criteria.may_match(block.event_bloom):
            return
        finality = b',"finality_status":"%b"}' % block.body.status.encode()
        for event in block.events_of(self.addresses):
            assert isinstance(event.transaction_index, int)
            assert isinstance(event.event_index, int)
            place = (event.transaction_index, event.event_index + 1)
            if place > behind and wanted.matches(event):
                yield place, _rendered(event, finality, is_before_0_10=is_before_0_10)

    def unstored_items(self, found: UnstoredTransactions, *, is_before_0_10: bool) -> Iterator[bytes]:
        if not self.pre_confirmed:
            return
        wanted = _filter_of(self)
        finality = b',"finality_status":"%b"}' % found.body.status.encode()
        for event in found.events:
            if wanted.matches(event):
                yield _rendered(event, finality, is_before_0_10=is_before_0_10)


def _rendered(event: EmittedEvent, finality: bytes, *, is_before_0_10: bool) -> bytes:
    shown = without_places(event) if is_before_0_10 else event
    return msgspec.json.encode(shown)[:-1] + finality


@lru_cache(maxsize=1024)
def _filter_of(stream: EventSpec) -> EventFilter:
    return EventFilter(stream.addresses, stream.keys)


class _Sender(msgspec.Struct, frozen=True):
    sender_address: str | None = None
    contract_address: str | None = None
    type: str = ""


_decode_sender = msgspec.json.Decoder(_Sender).decode


def _sender_of(body: StoredBody, index: int) -> str | None:
    """Return the account that pays for a transaction, None without one; for DEPLOY_ACCOUNT the new
    account.
    """
    transaction = _decode_sender(body.transactions[index])
    if transaction.type == "DEPLOY_ACCOUNT":
        return _decode_sender(body.receipts[index]).contract_address
    if transaction.type == "INVOKE":
        return transaction.sender_address or transaction.contract_address
    return transaction.sender_address


class _OfSenders(_OfEveryBlock, frozen=True):
    senders: frozenset[str] = frozenset()
    accepted: bool = True
    """True if transactions of accepted blocks are wanted."""
    unstored: frozenset[str] = frozenset()
    """Wanted finalities of transactions outside stored blocks."""

    @property
    def weight(self) -> int:
        return len(self.senders)

    def _unstored(self, found: UnstoredTransactions) -> Iterator[int]:
        """Yield the indices of the wanted ones among transactions that no stored block has."""
        if found.body.status in self.unstored:
            for index in found.indices:
                if not self.senders or _sender_of(found.body, index) in self.senders:
                    yield index


class TransactionStream(_OfSenders, frozen=True):
    """Stream of the transactions of some senders, or of all."""

    with_proof_facts: bool = False

    kind = "newTransactions"
    notification = b"NewTransaction"

    def items(self, block: BlockContents, behind: Place = _FIRST, *, is_before_0_10: bool) -> Iterator[Item]:
        del is_before_0_10
        if not self.accepted:
            return
        for place, index in _of_senders(block.body, self.senders, behind):
            yield place, self._rendered(block.body, index)

    def unstored_items(self, found: UnstoredTransactions, *, is_before_0_10: bool) -> Iterator[bytes]:
        del is_before_0_10
        for index in self._unstored(found):
            yield self._rendered(found.body, index)

    def _rendered(self, body: StoredBody, index: int) -> bytes:
        text = hashed_transaction(body, index, with_proof_facts=self.with_proof_facts)
        return b'%b,"finality_status":"%b"}' % (text[:-1], body.status.encode())


class ReceiptStream(_OfSenders, frozen=True):
    """Stream of the receipts of transactions of some senders, or of all."""

    kind = "newTransactionReceipts"
    notification = b"NewTransactionReceipts"

    def items(self, block: BlockContents, behind: Place = _FIRST, *, is_before_0_10: bool) -> Iterator[Item]:
        del is_before_0_10
        if not self.accepted:
            return
        for place, index in _of_senders(block.body, self.senders, behind):
            yield place, placed_receipt(block.body, index, block.hash, block.number)

    def unstored_items(self, found: UnstoredTransactions, *, is_before_0_10: bool) -> Iterator[bytes]:
        del is_before_0_10
        if (number := found.number) is not None:
            for index in self._unstored(found):
                yield placed_receipt(found.body, index, None, number)


class StatusStream(msgspec.Struct, frozen=True):
    """Stream of the status of one transaction, sent when it changes."""

    transaction_hash: bytes

    kind = "transactionStatus"
    notification = b"TransactionStatus"
    weight = 1

    def next_block(self, view: StarknetSnapshot, first: int, last: int) -> int:
        """Return the number of the transaction's block if that is `first` or later, else `last` + 1."""
        place = view.transaction(self.transaction_hash)
        return last + 1 if place is None or place[0] < first else place[0]

    def items(self, block: BlockContents, behind: Place = _FIRST, *, is_before_0_10: bool) -> Iterator[Item]:
        del is_before_0_10
        place = block.view.transaction(self.transaction_hash)
        if place is None or place[0] != block.number or (place[1] + 1, 0) <= behind:
            return
        yield (place[1] + 1, 0), self._rendered(transaction_status(block.body, place[1]))

    def unstored_items(self, found: UnstoredTransactions, *, is_before_0_10: bool) -> Iterator[bytes]:
        del is_before_0_10
        text = felt_text(self.transaction_hash)
        for index in found.indices:
            if found.body.hashes[index] == text:
                is_executed = found.number is not None
                yield self._rendered(
                    transaction_status(found.body, index)
                    if is_executed
                    else {"finality_status": found.body.status}
                )

    def _rendered(self, status: dict[str, Any]) -> bytes:
        told = {"transaction_hash": felt_text(self.transaction_hash), "status": status}
        return msgspec.json.encode(told)


def _of_senders(body: StoredBody, senders: frozenset[str], behind: Place) -> Iterator[tuple[Place, int]]:
    indices: Sequence[int] = range(min(behind[0], len(body.hashes)), len(body.hashes))
    for index in indices:
        if not senders or _sender_of(body, index) in senders:
            yield (index + 1, 0), index


HEADS: Final = HeadStream()
