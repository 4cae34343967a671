"""The subject of a subscription; subscriptions with equal subjects share a group."""

from typing import Protocol, TypeAlias

import msgspec

from wsnode.ethereum.head import Head
from wsnode.ethereum.live.contents import BlockContents
from wsnode.ethereum.live.notices import Message, notification
from wsnode.ethereum.live.pages import (
    Page,
    Pages,
    block_page,
    header_page,
    log_page,
    mined_page,
    receipt_page,
)
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.live.receipts import Hashes
from wsnode.ethereum.live.transactions import MinedFilter
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.snapshot import Snapshot


class Extensions(msgspec.Struct, frozen=True):
    """The additional members of a subscription's notifications."""

    cursors: bool = False
    reorgs: bool = False

    @property
    def has_notices(self) -> bool:
        """Return whether it gets messages that geth lacks, at which clients without these options fail."""
        return self.cursors or self.reorgs


STANDARD = Extensions()


class SubscriptionSpec(Protocol):
    """Kind, filter and form of a subscription to stored events; hashable."""

    @property
    def form(self) -> Extensions:
        """Return the additional members that it has."""
        ...

    @property
    def weight(self) -> int:
        """Return how many addresses and topics, or transactions, it names."""
        ...

    def page(self, view: Snapshot, position: Position, target: Head, floor: Head | None) -> Pages:
        """Return what comes behind `position`, as the generators of `pages` do."""
        ...

    def cursor(self, position: Position) -> Position:
        """Return `position` as this kind's cursors have it."""
        ...


class LogSpec(msgspec.Struct, frozen=True):
    """`logs`."""

    wanted: LogFilter
    form: Extensions = STANDARD

    @property
    def weight(self) -> int:
        """Return how many addresses and topics it names."""
        return self.wanted.parameter_count

    def page(self, view: Snapshot, position: Position, target: Head, floor: Head | None) -> Pages:
        """Return logs: those that are to be removed, down to `floor`, or those that follow."""
        return log_page(view, self.wanted, position, target, floor)

    def cursor(self, position: Position) -> Position:
        """Return `position`."""
        return position


class HeaderSpec(msgspec.Struct, frozen=True):
    """`newHeads`."""

    form: Extensions = STANDARD

    @property
    def weight(self) -> int:
        """Return 0."""
        return 0

    def page(self, view: Snapshot, position: Position, target: Head, floor: Head | None) -> Pages:
        """Return the headers that follow."""
        return header_page(view, position, target)

    def cursor(self, position: Position) -> Position:
        """Return the position after the block's header but before its logs, which were not sent."""
        return Position(position.number, position.hash, 0)


class BlockSubject(msgspec.Struct, frozen=True):
    """`newBlocks`."""

    contents: BlockContents
    form: Extensions = STANDARD

    @property
    def weight(self) -> int:
        """Return 0."""
        return 0

    def page(self, view: Snapshot, position: Position, target: Head, floor: Head | None) -> Pages:
        """Return the blocks that follow."""
        return block_page(view, self.contents, position, target)

    def cursor(self, position: Position) -> Position:
        """Return `position` as a header's cursor has it."""
        return Position(position.number, position.hash, 0)


class MinedSubject(msgspec.Struct, frozen=True):
    """`alchemy_minedTransactions`."""

    wanted: MinedFilter
    hashes_only: bool = False
    with_removed: bool = False

    @property
    def form(self) -> Extensions:
        """Return the standard form: it has no cursors."""
        return STANDARD

    @property
    def weight(self) -> int:
        """Return how many addresses it names."""
        return self.wanted.weight

    def page(self, view: Snapshot, position: Position, target: Head, floor: Head | None) -> Pages:
        """Return transactions: those that are to be removed, or those that follow."""
        return mined_page(
            view,
            self.wanted,
            position,
            target,
            hashes_only=self.hashes_only,
            with_removed=self.with_removed,
        )

    def cursor(self, position: Position) -> Position:
        """Return `position`, which counts transactions."""
        return position


class ReceiptSpec(msgspec.Struct, frozen=True):
    """`transactionReceipts`."""

    hashes: Hashes
    form: Extensions = STANDARD

    @property
    def weight(self) -> int:
        """Return how many transactions it names."""
        return len(self.hashes)

    def page(self, view: Snapshot, position: Position, target: Head, floor: Head | None) -> Pages:
        """Return the receipts of the blocks that follow, together for each block."""
        return receipt_page(view, self.hashes, position, target)

    def cursor(self, position: Position) -> Position:
        """Return `position` as a header's cursor has it."""
        return Position(position.number, position.hash, 0)


StoredSubject: TypeAlias = LogSpec | HeaderSpec | BlockSubject | MinedSubject | ReceiptSpec


def page_messages(form: Extensions, page: Page) -> list[Message]:
    """Return the notifications of a page."""
    if form.cursors:
        return [notification(item.result, item.behind) for item in page.items]
    return [notification(item.result) for item in page.items]
