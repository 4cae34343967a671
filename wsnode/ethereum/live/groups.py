"""Live subscriptions of a network in groups, and the events of a block for each group."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from wsnode.ethereum.codec.rendering import render_each_log, render_header
from wsnode.ethereum.codec.rows import log_values
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.contents import (
    ALL_RECEIPTS,
    BlockContentOptions,
    BlockRows,
    Hashes,
    ReceiptIndex,
    render_all,
    render_mined,
    render_some,
)
from wsnode.ethereum.live.notices import Message, notification
from wsnode.ethereum.live.position import BEGINNING, Position
from wsnode.ethereum.live.subscription_spec import (
    STANDARD,
    BlockSpec,
    Extensions,
    HeaderSpec,
    MinedSpec,
    ReceiptSpec,
    StoredSubject,
)
from wsnode.ethereum.logs.filter import FilterIndex, Log, LogFilter
from wsnode.ethereum.snapshot import Snapshot
from wsnode.pubsub.fan_out import FanOut, Group
from wsnode.pubsub.subscription import IDENTITY_BYTES, PART_BYTES, Event, FinalNotice

Parts = Sequence[tuple[Event, Position]]
"""Events, each with the position before it."""
Key = TypeVar("Key")


class FilterGroups:
    """Groups of the subscriptions to `logs` with equal filters: one group for each form of notifications
    (with cursors, with notices of reorganisations).
    """

    __slots__ = ("groups", "number", "wanted")

    def __init__(self, wanted: LogFilter) -> None:
        self.wanted = wanted
        self.groups: dict[Extensions, Group] = {}
        self.number = -1
        """Number of the filter in the index."""


class SubjectGroups:
    """Groups of the live subscriptions to a chain's events; the subscriptions in a group have the same
    subject and share each encoded event.
    """

    def __init__(self, fan_out: FanOut) -> None:
        self._fan_out = fan_out
        self._headers: dict[Extensions, Group] = {}
        self._blocks: dict[BlockContentOptions, dict[Extensions, Group]] = {}
        self._mined: dict[MinedSpec, Group] = {}
        self._filters: dict[LogFilter, FilterGroups] = {}
        self._index = FilterIndex[FilterGroups]()
        self._receipts: dict[Hashes, dict[Extensions, Group]] = {}
        self._named = ReceiptIndex()

    def __len__(self) -> int:
        return sum(1 for _group in self._with_positions(BEGINNING))

    def of(self, subject: StoredSubject) -> Group:
        """Return the group of a subject; join it immediately, since an empty group may be dropped."""
        if isinstance(subject, HeaderSpec):
            return self._group(self._headers, subject.form)
        if isinstance(subject, BlockSpec):
            contents = subject.contents
            groups = self._blocks.setdefault(contents, {})
            return self._group(groups, subject.form, lambda: groups or self._blocks.pop(contents))
        if isinstance(subject, MinedSpec):
            return self._group(self._mined, subject)
        if isinstance(subject, ReceiptSpec):
            return self._receipt_group(subject.hashes, subject.form)
        wanted = subject.wanted
        if (found := self._filters.get(wanted)) is None:
            found = self._filters[wanted] = FilterGroups(wanted)
            found.number = self._index.add(wanted, found)
        return self._group(found.groups, subject.form, lambda: self._drop(wanted))

    def _receipt_group(self, hashes: Hashes, form: Extensions) -> Group:
        if (groups := self._receipts.get(hashes)) is None:
            groups = self._receipts[hashes] = {}
            self._named.add(hashes)
        return self._group(groups, form, lambda: self._drop_receipts(hashes))

    def _drop_receipts(self, hashes: Hashes) -> None:
        if not self._receipts[hashes]:
            del self._receipts[hashes]
            self._named.remove(hashes)

    def _group(
        self, groups: dict[Key, Group], key: Key, on_empty: Callable[[], object] = lambda: None
    ) -> Group:
        if (group := groups.get(key)) is None:

            def forget() -> None:
                del groups[key]
                on_empty()

            group = groups[key] = Group(self._fan_out, forget)
        return group

    def _drop(self, wanted: LogFilter) -> None:
        if not self._filters[wanted].groups:
            self._index.remove(self._filters.pop(wanted).number)

    def announce(
        self,
        notice: Callable[[Position | None], Message],
        before: Position,
        *,
        to: Callable[[Extensions], bool],
    ) -> None:
        """Publish a notice to groups whose form satisfies `to`, with its cursor if the form has cursors."""
        events: dict[Position | None, Event] = {}
        for form, group, position in self._with_positions(before):
            if not to(form):
                continue
            cursor = position if form.cursors else None
            if cursor not in events:
                events[cursor] = Event([notice(cursor)])
            group.publish(events[cursor], before)

    def notify(self, notice: Message, before: Position, final_notice: FinalNotice) -> None:
        """Publish an error's notice to groups that have notices; close the connections of the others."""
        self.announce(lambda _cursor: notice, before, to=lambda form: form.has_notices)
        for form, group, _position in self._with_positions(before):
            if not form.has_notices:
                group.close(final_notice)

    def _with_positions(self, position: Position) -> Iterator[tuple[Extensions, Group, Position]]:
        """Yield form, group, and `position` in the form of the group's cursors, for every group."""
        before_logs = Position(position.number, position.hash, 0)
        for form, group in list(self._headers.items()):
            yield form, group, before_logs
        for groups in (*self._blocks.values(), *self._receipts.values()):
            for form, group in list(groups.items()):
                yield form, group, before_logs
        for group in list(self._mined.values()):
            yield STANDARD, group, position
        for found in list(self._filters.values()):
            for form, group in list(found.groups.items()):
                yield form, group, position

    def publish_header(self, header: bytes, head: Head, before: Position) -> None:
        if self._headers:
            _publish(self._headers, render_header(header), head, before)

    def publish_block(self, rows: BlockRows, head: Head, before: Position) -> None:
        for contents, groups in list(self._blocks.items()):
            _publish(groups, contents.render(rows), head, before)

    def publish_mined(self, rows: BlockRows, head: Head, before: Position, *, removed: bool) -> None:
        """Publish a block's transactions in order or, if the block is removed, in reverse."""
        blocks: dict[bool, _BlockMessages] = {}
        for subject, group in list(self._mined.items()):
            if removed and not subject.with_removed:
                continue
            if (block := blocks.get(subject.hashes_only)) is None:
                text = partial(render_mined, rows, hashes_only=subject.hashes_only, removed=removed)
                block = blocks[subject.hashes_only] = _BlockMessages(text, head, before, removed=removed)
            if indices := tuple(subject.wanted.matching(rows[1])):
                for event, position in block.parts(indices, cursors=False):
                    group.publish(event, position)

    def publish_receipts(self, view: Snapshot, rows: BlockRows, head: Head, before: Position) -> None:
        if not self._receipts:
            return
        wanted = self._named.matching(rows[1])
        texts = {hashes: render_some(view, some) for hashes, some in wanted.items()}
        if ALL_RECEIPTS in self._receipts and (text := render_all(rows)) is not None:
            texts[ALL_RECEIPTS] = text
        for hashes, text in texts.items():
            _publish(self._receipts[hashes], text, head, before)

    def publish_logs(self, rows: BlockRows, head: Head, before: Position, *, removed: bool) -> int:
        """Publish a block's logs in order or, if the block is removed, in reverse.

        Returns the number of logs compared: all of the block's, or 0 without live subscriptions to logs.
        """
        if not self._filters:
            return 0
        logs = log_values(rows[2])
        wanted = self._matched(logs, head.number)
        if not wanted:
            return len(logs)
        indices = sorted({index for some in wanted.values() for index in some})
        texts = dict(zip(indices, render_each_log(*rows, indices, removed=removed), strict=True))
        block = _BlockMessages(texts.__getitem__, head, before, removed=removed)
        for found, some in wanted.items():
            for form, group in list(found.groups.items()):
                for event, position in block.parts(tuple(some), form.cursors):
                    group.publish(event, position)
        return len(logs)

    def _matched(self, logs: Sequence[Log], number: int) -> dict[FilterGroups, list[int]]:
        found = self._index.matching(logs)
        return {groups: indices for groups, indices in found.items() if groups.wanted.covers(number)}


def _publish(groups: dict[Extensions, Group], text: bytes, head: Head, before: Position) -> None:
    """Publish one result of a new block, with the cursor after its header where the form has cursors."""
    for form, group in list(groups.items()):
        cursor = Position(head.number, head.hash, 0) if form.cursors else None
        group.publish(Event([notification(text, cursor)]), before)


class _BlockMessages:
    """Encoded messages of one block's logs or transactions by index, each made at its first use and shared by
    all groups of subscriptions.
    """

    def __init__(self, text: Callable[[int], bytes], head: Head, before: Position, *, removed: bool) -> None:
        """Make no message yet; `text` returns the JSON of the log or transaction with an index."""
        self._text = text
        self._head = head
        self._before = before
        self._removed = removed
        self._messages: dict[tuple[int, bool], Message] = {}
        self._parts: dict[tuple[tuple[int, ...], bool], Parts] = {}

    def parts(self, indices: tuple[int, ...], cursors: bool) -> Parts:
        """Return the events of these indices; groups with equal indices share them."""
        key = indices, cursors
        if (parts := self._parts.get(key)) is None:
            parts = self._parts[key] = list(self._split(indices[::-1] if self._removed else indices, cursors))
        return parts

    def _split(self, indices: Sequence[int], cursors: bool) -> Iterator[tuple[Event, Position]]:
        messages: list[Message] = []
        size, before = 0, self._before
        for index in indices:
            if size >= PART_BYTES:
                yield Event(messages), before
                messages, size, before = [], 0, self._beside(index, behind=self._removed)
            messages.append(message := self._message(index, cursors))
            size += len(message[0]) + len(message[1]) + IDENTITY_BYTES
        yield Event(messages), before

    def _message(self, index: int, cursors: bool) -> Message:
        if (message := self._messages.get((index, cursors))) is None:
            cursor = self._beside(index, behind=not self._removed) if cursors else None
            message = self._messages[index, cursors] = notification(self._text(index), cursor)
        return message

    def _beside(self, index: int, *, behind: bool) -> Position:
        return Position(self._head.number, self._head.hash, index + behind)
