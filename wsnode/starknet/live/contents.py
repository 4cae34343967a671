"""Blocks and unstored transactions that subscriptions receive; their parts are read once for all."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from wsnode.starknet.body import StoredBody
from wsnode.starknet.events import EmittedEvent, EventFilter, emitted_events, matching_events
from wsnode.starknet.felt import felt_text
from wsnode.starknet.header_json import render_header
from wsnode.starknet.live.position import BEGINNING, StarknetPosition
from wsnode.starknet.snapshot import StarknetSnapshot
from wsnode.starknet.storage.tables import BlockRow


class BodyUnavailableError(Exception):
    """Error of a block that is stored without its transactions, so its events and receipts are unknown."""

    def __init__(self, position: StarknetPosition) -> None:
        super().__init__(f"block {position.number} was stored without its transactions")
        self.position = position
        """Position after the block."""


class BlockContents:
    """Parts of one stored block, read from the snapshot `view` when needed: header, body and events."""

    def __init__(self, view: StarknetSnapshot, number: int, row: BlockRow) -> None:
        self.view = view
        self.number = number
        self.hash = row.hash
        self.transactions_read = 0
        """Number of the block's transactions if its body has been read, else 0."""
        self._row = row

    @property
    def position(self) -> StarknetPosition:
        return StarknetPosition(self.number, self.hash)

    @cached_property
    def hash_text(self) -> str:
        return felt_text(self.hash)

    @cached_property
    def header(self) -> bytes:
        return render_header(self.view, self.number, self._row)

    @cached_property
    def event_bloom(self) -> bytes:
        """Return the Bloom filter of the addresses and keys in the block's events, in the form of
        `storage.event_bloom`.

        Raises:
            BodyUnavailableError: The block has no transactions here.
        """
        if (bloom := self.view.event_bloom(self.number)) is None:
            raise BodyUnavailableError(self.position)
        return bloom

    @cached_property
    def body(self) -> StoredBody:
        """Return the block's transactions and receipts.

        Raises:
            BodyUnavailableError: The block has no transactions here.
        """
        if (body := self.view.body(self.number)) is None:
            raise BodyUnavailableError(self.position)
        self.transactions_read = len(body.hashes)
        return body

    @cached_property
    def events(self) -> Sequence[EmittedEvent]:
        """Return all events of the block, in order.

        Raises:
            BodyUnavailableError: The block has no transactions here.
        """
        found = matching_events(self.body, EventFilter((), ()), self.number, self.hash_text)
        return [event for _, event in found]

    @cached_property
    def events_by_contract(self) -> Mapping[str, Sequence[int]]:
        """Return the indices in `events` of each contract's events, by the contract's address."""
        indices: dict[str, list[int]] = {}
        for index, event in enumerate(self.events):
            indices.setdefault(event.from_address, []).append(index)
        return indices

    def events_of(self, contracts: Iterable[str]) -> Iterator[EmittedEvent]:
        """Yield the events emitted by these contracts, in order; without contracts all events."""
        if not (named := set(contracts)):
            yield from self.events
            return
        indices = sorted(index for name in named for index in self.events_by_contract.get(name, ()))
        yield from map(self.events.__getitem__, indices)


class UnstoredTransactions:
    """Transactions without a stored block: some of those in a body; `body.status` is their finality."""

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
    """Record of the transactions published before a stored block had them, so none is published twice."""

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
