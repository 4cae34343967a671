"""Block to be published to subscribers; its parts are read once for all subscriptions."""

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
    """Error of a block that is stored without its transactions, so its events and receipts are unknown."""

    def __init__(self, position: StarknetPosition) -> None:
        super().__init__(f"block {position.number} was stored without its transactions")
        self.position = position
        """Position after the block."""


class BlockContents:
    """Stored block of the chain in the snapshot `view`."""

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
