"""Search for the events that match a filter, in pages, and its position as a continuation token."""

from collections.abc import Generator, Iterator, Sequence
from typing import Any, Final, Protocol, Self

import msgspec

from wsnode.jsonrpc.codec import decode_cursor, encode_cursor
from wsnode.starknet.body import StoredBody, StoredEvent, events_of
from wsnode.starknet.felt import FELT_BYTES, felt_text
from wsnode.starknet.followed import PreConfirmedBlock
from wsnode.starknet.snapshot import StarknetSnapshot
from wsnode.starknet.storage.event_bloom import BloomCriteria, address_item, key_item

WHOLE: Final = 2**32 - 1
"""Value of `count` for the position after all events of the block."""
_VERSION: Final = b"\x01E"
_SIZE: Final = 8 + 4 + FELT_BYTES


class EventPosition(msgspec.Struct, frozen=True):
    """Position in a chain's events, as a continuation token holds it: after the first `count` events of block
    `number` with hash `hash`.

    The block is the last one of which the client has seen events. So a position stays valid while all blocks
    that the client has seen are on the chain; blocks above may be replaced.
    """

    number: int
    count: int
    """Number of the block's events before the position, matching or not."""
    hash: bytes

    def __str__(self) -> str:
        numbers = self.number.to_bytes(8, "big") + self.count.to_bytes(4, "big")
        return encode_cursor(_VERSION + numbers + self.hash)

    @classmethod
    def parse(cls, token: str) -> Self:
        """Return the position encoded in a continuation token.

        Raises:
            ValueError: It is no token.
        """
        content = decode_cursor(token, _VERSION, _SIZE)
        return cls(
            int.from_bytes(content[:8], "big"), int.from_bytes(content[8:12], "big"), bytes(content[12:])
        )


class HasEmitter(Protocol):
    """Event with the members that an `EventFilter` reads: the emitting contract and the keys."""

    @property
    def from_address(self) -> str: ...

    @property
    def keys(self) -> list[str]: ...


class EventFilter:
    """Filter of events: one of the contracts must have emitted an event, with one of the keys at each
    position.

    Without contracts any contract matches, and without keys for a position any key.
    """

    def __init__(self, addresses: Sequence[str], keys: Sequence[Sequence[str]]) -> None:
        self._addresses = frozenset(addresses)
        self._keys = [(position, frozenset(among)) for position, among in enumerate(keys) if among]
        groups = [[key_item(position, key) for key in among] for position, among in self._keys]
        if self._addresses:
            groups.append(list(map(address_item, self._addresses)))
        self.criteria = BloomCriteria(groups)

    def matches(self, event: HasEmitter) -> bool:
        if self._addresses and event.from_address not in self._addresses:
            return False
        keys = event.keys
        return all(position < len(keys) and keys[position] in among for position, among in self._keys)


MAX_BLOCKS: Final = 10_000
"""Maximum number of blocks that are searched for one page."""
MAX_BYTES: Final = 8 * 1024 * 1024
"""Bytes of a page's events after which no more are added."""
WORK_A_SLICE: Final = 512
"""Work of one slice, in blocks that are skipped."""
WORK_A_TRANSACTION: Final = 8
"""Work of reading the events of a transaction, in the same unit."""
_BYTES_AN_EVENT: Final = 400
_BYTES_A_KEY: Final = 70


class EventsUnavailableError(Exception):
    """Error of a block that was stored without its transactions, so its events are unknown."""

    def __init__(self, number: int) -> None:
        super().__init__(f"block {number} was stored without its transactions")
        self.number = number


class EmittedEvent(msgspec.Struct, frozen=True):
    """Event and its place, as starknet-specs' EMITTED_EVENT."""

    from_address: str
    keys: list[str]
    data: msgspec.Raw
    block_hash: str | msgspec.UnsetType
    """Hash of the block, unset for the pre-confirmed block."""
    block_number: int
    transaction_hash: str
    transaction_index: int | msgspec.UnsetType
    event_index: int | msgspec.UnsetType
    """Index among the events of the transaction."""

    @property
    def size(self) -> int:
        """Return the approximate size of the event in JSON, in bytes."""
        return memoryview(self.data).nbytes + _BYTES_A_KEY * len(self.keys) + _BYTES_AN_EVENT


class EventPage(msgspec.Struct, frozen=True):
    """Page of events in the order of the chain; `position` is after them, None if no more blocks follow."""

    events: list[EmittedEvent]
    position: EventPosition | None


def without_places(event: EmittedEvent) -> EmittedEvent:
    """Return an event in the form before starknet-specs 0.10, without its place in its block."""
    unset = msgspec.UNSET
    return msgspec.structs.replace(event, transaction_index=unset, event_index=unset)


Search = Generator[int, Any, EventPage]
"""Yields between slices the bytes found so far, and returns the page."""


def search_events(
    view: StarknetSnapshot, wanted: EventFilter, first: int, last: int, *, most: int, skipped: int = 0
) -> Search:
    """Search the stored blocks `first` to `last` for at most `most` events.

    The first `skipped` events of block `first` are left out. A page is shorter where its events are large, or
    after `MAX_BLOCKS` blocks.

    Raises:
        EventsUnavailableError: The next block was stored without its transactions.
    """
    found: list[EmittedEvent] = []
    size, work, behind = 0, 0, None
    end = min(last, first + MAX_BLOCKS - 1)
    for number in range(first, end + 1):
        if (bloom := view.event_bloom(number)) is None:
            if behind is not None:
                return EventPage(found, behind)
            raise EventsUnavailableError(number)
        work += 1
        body = view.body(number) if wanted.criteria.may_match(bloom) else None
        if body is not None:
            work += WORK_A_TRANSACTION * len(body.hashes)
        if work >= WORK_A_SLICE:
            work = 0
            yield size
        if body is None:
            continue
        block_hash = _hash_of(view, number)
        passed = skipped if number == first else 0
        for count, event in matching_events(body, wanted, number, felt_text(block_hash), passed):
            if behind is not None and (len(found) == most or size > MAX_BYTES):
                return EventPage(found, behind)
            found.append(event)
            size += event.size
            behind = EventPosition(number, count, block_hash)
    if end >= last:
        return EventPage(found, None)
    # The position of a full page is that of its last event, so a reorganization of later blocks does not
    # affect it.
    full = len(found) == most
    return EventPage(found, behind if full else EventPosition(end, WHOLE, _hash_of(view, end)))


def search_pre_confirmed(
    block: PreConfirmedBlock, wanted: EventFilter, *, most: int, skipped: int = 0
) -> EventPage:
    """Return at most `most` matching events of the pre-confirmed block, without the first `skipped`.

    The position after them names the block's parent, since the block has no hash.
    """
    found: list[EmittedEvent] = []
    behind = skipped
    for count, event in matching_events(block.body, wanted, block.number, msgspec.UNSET, skipped):
        if len(found) == most:
            return EventPage(found, EventPosition(block.number, behind, block.parent_hash))
        found.append(event)
        behind = count
    return EventPage(found, None)


def matching_events(
    body: StoredBody,
    wanted: EventFilter,
    number: int,
    block_hash: str | msgspec.UnsetType,
    skipped: int = 0,
) -> Iterator[tuple[int, EmittedEvent]]:
    """Yield a block's matching events after the first `skipped`, each with the count of events up to it."""
    count = 0
    for transaction_index, receipt in enumerate(body.receipts):
        for event_index, event in enumerate(events_of(receipt)):
            count += 1
            if count > skipped and wanted.matches(event):
                place = (block_hash, number, body.hashes[transaction_index], transaction_index, event_index)
                yield count, _emitted(event, *place)


def emitted_events(body: StoredBody, index: int, number: int) -> Iterator[EmittedEvent]:
    """Yield the events of the transaction at `index` of a pre-confirmed block with this number, in order."""
    for event_index, event in enumerate(events_of(body.receipts[index])):
        yield _emitted(event, msgspec.UNSET, number, body.hashes[index], index, event_index)


def _emitted(event: StoredEvent, *place: Any) -> EmittedEvent:
    return EmittedEvent(event.from_address, event.keys, event.data, *place)


def _hash_of(view: StarknetSnapshot, number: int) -> bytes:
    row = view.block(number)
    assert row is not None, "a block with a body has a row"
    return row.hash
