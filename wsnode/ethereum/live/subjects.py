"""The subject of a subscription; subscriptions with equal subjects share a group."""

from typing import Protocol, TypeAlias

import msgspec

from wsnode.ethereum.head import Head
from wsnode.ethereum.live.notices import Message, notification
from wsnode.ethereum.live.pages import Page, Pages, header_page, log_page, receipt_page
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.live.receipts import Hashes
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.snapshot import Snapshot


class Form(msgspec.Struct, frozen=True):
    """The additional members of a subscription's notifications."""

    cursors: bool = False
    reorgs: bool = False

    @property
    def has_notices(self) -> bool:
        """Return whether it gets messages that geth lacks, at which clients without these options fail."""
        return self.cursors or self.reorgs


STANDARD = Form()


class Subject(Protocol):
    """Kind, filter and form of a subscription to stored events; hashable."""

    @property
    def form(self) -> Form:
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


class LogSubject(msgspec.Struct, frozen=True):
    """`logs`."""

    wanted: LogFilter
    form: Form = STANDARD

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


class HeaderSubject(msgspec.Struct, frozen=True):
    """`newHeads`."""

    form: Form = STANDARD

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


class ReceiptSubject(msgspec.Struct, frozen=True):
    """`transactionReceipts`."""

    hashes: Hashes
    form: Form = STANDARD

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


StoredSubject: TypeAlias = LogSubject | HeaderSubject | ReceiptSubject


def page_messages(form: Form, page: Page) -> list[Message]:
    """Return the notifications of a page."""
    if form.cursors:
        return [notification(item.result, item.behind) for item in page.items]
    return [notification(item.result) for item in page.items]
