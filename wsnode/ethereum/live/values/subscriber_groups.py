"""Groups of subscribers to the same values, and the notices and results sent to them."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from wsnode.ethereum.live.branches import UnknownPositionError, dropped_from, reorganisation
from wsnode.ethereum.live.notices import ReorganisationNotice, notification, reorganisation_notice
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.live.subscription_spec import Extensions
from wsnode.ethereum.live.values.cursor import StateCursor
from wsnode.ethereum.live.values.watched_values import PublishedValues
from wsnode.ethereum.snapshot import Snapshot
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
