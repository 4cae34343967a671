"""A block of which subscribers are told: what is read of it is read once for all of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from wsnode.starknet.body import StoredBody
from wsnode.starknet.events.filter import EventFilter
from wsnode.starknet.events.search import EmittedEvent, matching_events
from wsnode.starknet.felt import felt_text
from wsnode.starknet.header_json import render_header
from wsnode.starknet.live.position import StarknetPosition
from wsnode.starknet.snapshot import StarknetSnapshot
from wsnode.starknet.storage.rows import BlockRow


class BodyUnavailableError(Exception):
    """The block is stored without its transactions, so nobody knows what subscribers should be told."""

    def __init__(self, position: StarknetPosition) -> None:
        super().__init__(f"block {position.number} was stored without its transactions")
        self.position = position
        """That after the block."""


class BlockContents:
    """A stored block of the chain that `view` shows."""

    def __init__(self, view: StarknetSnapshot, number: int, row: BlockRow) -> None:
        self.view = view
        self.number = number
        self.hash = row.hash
        self.transactions_read = 0
        """How many transactions have been read of it."""
        self._row = row

    @property
    def position(self) -> StarknetPosition:
        """The position after the block."""
        return StarknetPosition(self.number, self.hash)

    @cached_property
    def hash_text(self) -> str:
        """The block's hash as results have it."""
        return felt_text(self.hash)

    @cached_property
    def header(self) -> bytes:
        """The header as JSON."""
        return render_header(self.view, self.number, self._row)

    @cached_property
    def event_bloom(self) -> bytes:
        """The Bloom filter of the block's events.

        Raises:
            BodyUnavailableError: The block has no transactions here.
        """
        if (bloom := self.view.event_bloom(self.number)) is None:
            raise BodyUnavailableError(self.position)
        return bloom

    @cached_property
    def body(self) -> StoredBody:
        """The block's transactions and receipts.

        Raises:
            BodyUnavailableError: It has none here.
        """
        if (body := self.view.body(self.number)) is None:
            raise BodyUnavailableError(self.position)
        self.transactions_read = len(body.hashes)
        return body

    @cached_property
    def events(self) -> Sequence[EmittedEvent]:
        """All events of the block, in order.

        Raises:
            BodyUnavailableError: The block has no transactions here.
        """
        found = matching_events(self.body, EventFilter((), ()), self.number, self.hash_text)
        return [event for _, event in found]

    @cached_property
    def events_by_contract(self) -> Mapping[str, Sequence[int]]:
        """The indices of the events that each contract has emitted."""
        indices: dict[str, list[int]] = {}
        for index, event in enumerate(self.events):
            indices.setdefault(event.from_address, []).append(index)
        return indices

    def events_of(self, contracts: Iterable[str]) -> Iterator[EmittedEvent]:
        """Yield the events that some contracts have emitted, in order; without contracts all events."""
        if not (named := set(contracts)):
            yield from self.events
            return
        indices = sorted(index for name in named for index in self.events_by_contract.get(name, ()))
        yield from map(self.events.__getitem__, indices)
