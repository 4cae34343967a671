"""Values watched by subscribers of a chain in groups, and their changes with each step of the chain."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final, TypeVar

from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.branches import UnknownPositionError, dropped_from, reorganisation
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.notices import ReorganisationNotice, notification, reorganisation_notice
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.live.subscription_spec import Extensions
from wsnode.ethereum.live.values.watched_values import (
    ADDRESS_BYTES,
    BlockState,
    Key,
    PublishedValues,
    StateCursor,
    Value,
    Values,
    changes_of,
    read_values,
    render_values,
)
from wsnode.ethereum.primitives.values import BlockNumber
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import BoundError, StateError, changed_keys, root_after
from wsnode.pubsub.fan_out import FanOut, Group
from wsnode.pubsub.subscription import Event


class SubscriberGroups:
    """Groups of the subscribers to the same values, one for each form of notifications."""

    def __init__(self, fan_out: FanOut) -> None:
        self.holders = 0
        self.groups: dict[Extensions, Group] = {}
        self._fan_out = fan_out

    def group(self, form: Extensions) -> Group:
        """Return the group of a form, new if needed; join it immediately, as an empty one may be dropped."""
        if (group := self.groups.get(form)) is None:
            group = self.groups[form] = Group(self._fan_out, partial(self._drop, form))
        return group

    def _drop(self, form: Extensions) -> None:
        del self.groups[form]

    def publish(self, result: bytes, cursor: StateCursor, before: PublishedValues) -> None:
        """Publish a result with the cursor after it; `before` are the values that the subscribers had."""
        for form, group in list(self.groups.items()):
            group.publish(Event([notification(result, cursor if form.cursors else None)]), before)


W = TypeVar("W", bound=SubscriberGroups)


def announce_reorganisation(
    view: Snapshot, watches: Iterable[W], left: StateCursor, before: Callable[[W], PublishedValues]
) -> None:
    """Publish the notice of a reorganisation, to forms with reorgs, if the block of `left` left the chain.

    `before` returns the values that the subscribers of a watch have.
    """
    asking = [
        (watch, form, group) for watch in watches for form, group in list(watch.groups.items()) if form.reorgs
    ]
    if asking and (change := _reorganisation_since(view, left)) is not None:
        for watch, form, group in asking:
            told = before(watch)
            notice = reorganisation_notice(change, told.cursor if form.cursors else None)
            group.publish(Event([notice]), told)


def _reorganisation_since(view: Snapshot, before: StateCursor) -> ReorganisationNotice | None:
    """Return the reorganisation between a state and the head, None if the state's block is canonical."""
    try:
        dropped, ancestor = dropped_from(view, Position.after(before.head))
    except UnknownPositionError:
        return None
    return reorganisation(view, dropped, ancestor) if dropped else None


LIST_BYTES: Final = 1 << 20
"""Bytes of the lists of changes in a step; above it all watched values are read again."""

Changed = Mapping[bytes, tuple[bool, set[bytes]]]
"""Changes by address: True if the account itself may have changed, and the slots that may have changed."""


class WatchedKeys(SubscriberGroups):
    """Accounts and slots watched by equal subscriptions to `state`: their keys, last published values, and
    groups of subscribers.
    """

    def __init__(self, fan_out: FanOut, keys: tuple[Key, ...], values: Values) -> None:
        super().__init__(fan_out)
        self.keys = keys
        self.values = values
        """Values that the groups were sent last."""

    def keys_in(self, changed: Changed | None) -> Iterable[Key]:
        """Return the keys whose values may have changed; all if the changes are not known."""
        if changed is None:
            return self.keys
        return filter(lambda key: _is_in(key, changed), self.keys)


def _is_in(key: Key, changed: Changed) -> bool:
    if (found := changed.get(key[:ADDRESS_BYTES])) is None:
        return False
    is_account, slots = found
    return is_account if len(key) == ADDRESS_BYTES else key[ADDRESS_BYTES:] in slots


@contextmanager
def published_view(hub: Hub) -> Iterator[tuple[Snapshot, StateCursor] | None]:
    """Yield the head's snapshot and cursor; None while it is being published, or if it left the chain."""
    with hub.snapshot() as view:
        found: tuple[Snapshot, StateCursor] | None = None
        if hub.meeting_point is not None and view.head == hub.head and view.has_begun:
            view.pin()
            # The head may have left the chain since the snapshot was opened.
            with suppress(StateError):
                found = view, cursor_at(view)
        yield found


class StateFeed:
    """Publisher of changed accounts and slots to subscriptions to `state`, after each change of the head or
    of the head's state.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.cursor: StateCursor | None = None
        """State that was compared last; None while nothing is watched."""
        self._watches: dict[tuple[Key, ...], WatchedKeys] = {}
        self._of_account: defaultdict[bytes, set[WatchedKeys]] = defaultdict(set)
        hub.on_change.append(lambda _change: self.look())
        hub.on_same_head.append(self.look)

    def __len__(self) -> int:
        return len(self._watches)

    def look(self) -> None:
        """Publish the changes since the last call, unless the head is still being published."""
        if self._watches:
            with self.view():
                pass

    @contextmanager
    def view(self) -> Iterator[Snapshot | None]:
        """Yield a snapshot of the head, at which all watches have their values; None while there is none."""
        with published_view(self._hub) as found:
            if found is None:
                yield None
                return
            view, cursor = found
            if self.cursor != cursor and self._watches:
                self._step(view, cursor)
            self.cursor = cursor
            yield view

    def hold(self, keys: tuple[Key, ...], view: Snapshot) -> WatchedKeys:
        """Return the watch of these keys, undone by `release`; `view` is yielded by the feed."""
        if (watch := self._watches.get(keys)) is None:
            values = read_values(view.state, view.head, keys)
            watch = self._watches[keys] = WatchedKeys(self._hub.fan_out, keys, values)
            for address in _addresses(keys):
                self._of_account[address].add(watch)
        watch.holders += 1
        return watch

    def release(self, watch: WatchedKeys) -> None:
        watch.holders -= 1
        if watch.holders:
            return
        del self._watches[watch.keys]
        for address in _addresses(watch.keys):
            self._of_account[address].discard(watch)
            if not self._of_account[address]:
                del self._of_account[address]
        if not self._watches:
            self.cursor = None

    def _step(self, view: Snapshot, cursor: StateCursor) -> None:
        before = self.cursor
        assert before is not None, "there is a watch"
        announce_reorganisation(
            view, self._watches.values(), before, lambda watch: PublishedValues(before, watch.values)
        )
        place = BlockState(cursor, view.head_timestamp)
        changed = _changed_since(view, before)
        for watch in self._concerned(changed):
            values = read_values(view.state, view.head, watch.keys_in(changed))
            if accounts := changes_of(watch.values, values):
                watch.publish(render_values(place, accounts), cursor, PublishedValues(before, watch.values))
                watch.values = {**watch.values, **values}

    def _concerned(self, changed: Changed | None) -> list[WatchedKeys]:
        if changed is None:
            return list(self._watches.values())
        found = (self._of_account.get(address, ()) for address in changed)
        return list({watch: None for watches in found for watch in watches})


def is_known(view: Snapshot, cursor: StateCursor) -> bool:
    """Return True if the state of a cursor is kept, and is that after its block."""
    head = cursor.head
    if view.is_light:
        return view.hash_of(head.number) == head.hash and proved_cursor(view, head) == cursor
    try:
        return root_after(view.state, (head.number, head.hash)) == cursor.root
    except StateError:
        return False


def cursor_at(view: Snapshot) -> StateCursor:
    """Return the cursor of a snapshot's head.

    Raises:
        StateError: The head has left the chain.
    """
    if view.is_light:
        return proved_cursor(view, view.head)
    return StateCursor(view.head, root_after(view.state, (view.head.number, view.head.hash)))


def proved_cursor(view: Snapshot, head: Head) -> StateCursor:
    """Return the cursor of a light folder's canonical block, and note its state root in the engine."""
    header = view.header(head.number)
    assert header is not None, "it is canonical"
    root = header_fields(header).state_root
    view.state.note_root(head.number, head.hash, root)
    return StateCursor(head, root)


def values_at(view: Snapshot, cursor: StateCursor, keys: Iterable[Key]) -> dict[Key, Value] | None:
    """Return the values after the block of a cursor; None if that state is no longer kept."""
    if not is_known(view, cursor):
        return None
    try:
        return read_values(view.state, cursor.head, keys)
    except StateError:
        return None


def _changed_since(view: Snapshot, before: StateCursor) -> Changed | None:
    """Return the possible changes since an ancestor; None if they are not known.

    Lists of changes do not cover patches, undone patches, and blocks of an abandoned branch.
    """
    head = before.head
    if head.number >= view.head.number:
        return None
    if not is_known(view, before):
        return None
    try:
        last = (view.head.number, view.head.hash)
        found = changed_keys(view.state, head.number, last, changes=LIST_BYTES)
    except (BoundError, StateError):
        return None
    return {address: (is_account, set(slots)) for address, is_account, slots in found}


def _addresses(keys: Iterable[Key]) -> set[bytes]:
    return {key[:ADDRESS_BYTES] for key in keys}


def is_behind(view: Snapshot, cursor: StateCursor) -> bool:
    """Return True if the state of a cursor is that of the snapshot's head, or of a block below it."""
    return cursor.head.number <= view.head.number and is_known(view, cursor)


def parent_cursor(view: Snapshot) -> StateCursor | None:
    """Return the cursor of the parent of a snapshot's head, None if the parent's state is not kept."""
    number = view.head.number - 1
    if number < 0 or (block_hash := view.hash_of(number)) is None:
        return None
    try:
        return StateCursor(
            Head(BlockNumber(number), block_hash), root_after(view.state, (number, block_hash))
        )
    except StateError:
        return None
