"""Subject of a subscription; subscriptions with equal subjects share a group."""

from typing import TypeAlias

import msgspec

from wsnode.ethereum.head import Head
from wsnode.ethereum.live.contents import BlockContentOptions, Hashes, MinedFilter
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
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.snapshot import Snapshot


class Extensions(msgspec.Struct, frozen=True):
    """Extensions of a subscription's notifications beyond geth's form: `cursors` adds a cursor to each,
    `reorgs` a notice of each reorganisation.
    """

    cursors: bool = False
    reorgs: bool = False

    @property
    def has_notices(self) -> bool:
        """Return True if the subscription gets messages that geth lacks and its clients may reject."""
        return self.cursors or self.reorgs


STANDARD = Extensions()


class LogSpec(msgspec.Struct, frozen=True):
    """Subject of a subscription to `logs`: the filter, and the extensions of its notifications."""

    wanted: LogFilter
    form: Extensions = STANDARD

    @property
    def weight(self) -> int:
        return self.wanted.parameter_count

    def page(self, view: Snapshot, position: Position, target: Head, floor: Head | None) -> Pages:
        return log_page(view, self.wanted, position, target, floor)

    def cursor(self, position: Position) -> Position:
        return position


class HeaderSpec(msgspec.Struct, frozen=True):
    """Subject of a subscription to `newHeads`: the extensions of its notifications alone."""

    form: Extensions = STANDARD

    @property
    def weight(self) -> int:
        return 0

    def page(self, view: Snapshot, position: Position, target: Head, floor: Head | None) -> Pages:
        return header_page(view, position, target)

    def cursor(self, position: Position) -> Position:
        """Return the position after the block's header and before its logs."""
        return Position(position.number, position.hash, 0)


class BlockSpec(msgspec.Struct, frozen=True):
    """Subject of a subscription to `newBlocks`: contents of the blocks, extensions of the notifications."""

    contents: BlockContentOptions
    form: Extensions = STANDARD

    @property
    def weight(self) -> int:
        return 0

    def page(self, view: Snapshot, position: Position, target: Head, floor: Head | None) -> Pages:
        return block_page(view, self.contents, position, target)

    def cursor(self, position: Position) -> Position:
        return Position(position.number, position.hash, 0)


class MinedSpec(msgspec.Struct, frozen=True):
    """Subject of a subscription to `alchemy_minedTransactions`: the filter, hashes or objects, and with or
    without transactions of removed blocks.
    """

    wanted: MinedFilter
    hashes_only: bool = False
    with_removed: bool = False

    @property
    def form(self) -> Extensions:
        """Return the standard form: this kind has no cursors."""
        return STANDARD

    @property
    def weight(self) -> int:
        return self.wanted.weight

    def page(self, view: Snapshot, position: Position, target: Head, floor: Head | None) -> Pages:
        return mined_page(
            view,
            self.wanted,
            position,
            target,
            hashes_only=self.hashes_only,
            with_removed=self.with_removed,
        )

    def cursor(self, position: Position) -> Position:
        """Return `position`, whose `logs` counts transactions."""
        return position


class ReceiptSpec(msgspec.Struct, frozen=True):
    """Subject of a subscription to `transactionReceipts`: the transactions' hashes, and the extensions of its
    notifications.
    """

    hashes: Hashes
    form: Extensions = STANDARD

    @property
    def weight(self) -> int:
        return len(self.hashes)

    def page(self, view: Snapshot, position: Position, target: Head, floor: Head | None) -> Pages:
        return receipt_page(view, self.hashes, position, target)

    def cursor(self, position: Position) -> Position:
        return Position(position.number, position.hash, 0)


StoredSubject: TypeAlias = LogSpec | HeaderSpec | BlockSpec | MinedSpec | ReceiptSpec


def page_messages(form: Extensions, page: Page) -> list[Message]:
    """Return the notifications of a page."""
    if form.cursors:
        return [notification(item.result, item.behind) for item in page.items]
    return [notification(item.result) for item in page.items]
