"""Transactions that no stored block has: of the pre-confirmed block, and sent ones, each published once."""

from collections.abc import Iterator, Sequence
from functools import cached_property

from wsnode.starknet.body import StoredBody
from wsnode.starknet.events.search import EmittedEvent, emitted_events
from wsnode.starknet.live.position import BEGINNING, StarknetPosition
from wsnode.starknet.snapshot import StarknetSnapshot


class UnstoredTransactions:
    """Some transactions of a body without a block hash; `body.status` is their finality."""

    def __init__(self, body: StoredBody, number: int | None, indices: Sequence[int]) -> None:
        """Take the transactions at `indices`; `number` is that of their block, None if they have none."""
        self.body = body
        self.number = number
        self.indices = indices

    @cached_property
    def events(self) -> Sequence[EmittedEvent]:
        """Return the events of the transactions, in order."""
        if (number := self.number) is None:
            return []
        return [event for index in self.indices for event in emitted_events(self.body, index, number)]


class UnstoredFeed:
    """Record of the transactions that were published before a stored block had them."""

    def __init__(self) -> None:
        self._head = BEGINNING
        self._published: set[str] = set()
        """Hashes of the published transactions of pre-confirmed blocks on that head."""
        self._sent = 0
        """Number of sent transactions that were published."""

    def take(self, view: StarknetSnapshot, head: StarknetPosition) -> Iterator[UnstoredTransactions]:
        """Yield what was not published yet, sent transactions first; it counts as published from now on."""
        if view.followed is None:
            return
        if head != self._head:
            self._head = head
            self._published.clear()
        sent = view.followed.sent
        before, self._sent = self._sent, sent.sequence
        for body in sent.after(before):
            yield UnstoredTransactions(body, None, [0])
        if (block := view.pre_confirmed) is None:
            return
        hashes = block.body.hashes
        new = [index for index, text in enumerate(hashes) if text not in self._published]
        if new:
            self._published.update(hashes)
            yield UnstoredTransactions(block.body, block.number, new)

    def published(self, view: StarknetSnapshot) -> UnstoredTransactions | None:
        """Return the published transactions of the pre-confirmed block, None if there are none."""
        if (block := view.pre_confirmed) is None or block.parent_hash != self._head.hash:
            return None
        hashes = block.body.hashes
        indices = [index for index, text in enumerate(hashes) if text in self._published]
        return UnstoredTransactions(block.body, block.number, indices) if indices else None
