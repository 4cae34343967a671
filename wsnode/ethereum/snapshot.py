"""The chain at one moment: all reads from a snapshot see one head."""

from types import TracebackType
from typing import Protocol, Self

from wsnode.ethereum.codec.chain_tables import ITSELF, find_transaction, locate_logs, logs_before
from wsnode.ethereum.codec.rows import Row, Rows, header_fields
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.state import ChainSpec, Moment, State
from wsnode.ethereum.storage import canonical, chain_ids, meta, side
from wsnode.ethereum.storage.tables import BODIES, HEADERS, NUMBERS, RECEIPTS, number_from, number_key
from wsnode.jsonrpc.share import Party
from wsnode.store.environment import Environment, Reader


class Source(Protocol):
    """A chain that has moments."""

    store: Environment
    spec: ChainSpec
    state: State
    window: int | None
    is_light: bool

    def head_in(self, reader: Reader) -> Head:
        """Return the head that `reader` sees."""

    def earliest_in(self, reader: Reader) -> BlockNumber:
        """Return the first block that `reader` sees."""


class Caller(Protocol):
    """The caller: `service_form` on the keyed paths, otherwise a plain node's form."""

    @property
    def service_form(self) -> bool:
        """Return whether replies carry the service's additional members."""

    @property
    def key_name(self) -> str | None:
        """Return the name of the key that was used, None without one."""

    @property
    def party(self) -> Party | None:
        """Return the connection that asks, None inside the program."""


class Snapshot:
    """The canonical chain up to one head, and the side blocks known then. A context manager."""

    __slots__ = ("_chain", "_moment", "caller", "head", "number", "reader", "spec", "state")

    def __init__(self, chain: Source, caller: Caller) -> None:
        self._chain = chain
        self.reader = reader = chain.store.read()
        self.spec = chain.spec
        self.state = chain.state
        self.caller = caller
        self.head = chain.head_in(reader)
        self.number = self.head.number
        self._moment: Moment | None = None

    @property
    def moment(self) -> Moment:
        """Return the snapshot in the engine's form."""
        return self._moment_of(self.state)

    def _moment_of(self, state: State) -> Moment:
        if self._moment is None:
            is_plain = not self.caller.service_form
            self._moment = Moment(state, self.reader, self.number, self.head.hash, is_plain=is_plain)
        return self._moment

    @property
    def version(self) -> int:
        """Return the version of the chain's store: another one may hold another chain."""
        return self.reader.version

    @property
    def chain_id(self) -> int:
        """Return the id of the blocks after the head."""
        changes = chain_ids.chain_ids(self.reader)
        # What the specification knows of other ids may be later than this moment.
        return chain_ids.id_of(changes, self.spec.chain_id_at(0), self.number + 1)

    @property
    def earliest(self) -> BlockNumber:
        """Return the number of the first block: 0, but in a folder that keeps a window."""
        return self._chain.earliest_in(self.reader)

    @property
    def window(self) -> int | None:
        """Return how many blocks are kept, None for all."""
        return self._chain.window

    @property
    def is_light(self) -> bool:
        """Return whether no block is executed, and states are known by proofs alone."""
        return self._chain.is_light

    @property
    def head_timestamp(self) -> int:
        """Return when the head was made, in Unix time."""
        row = self.header(self.number)
        assert row is not None
        return header_fields(row).timestamp

    @property
    def safe(self) -> BlockNumber | None:
        """Return the safe block's number, None before there is one."""
        return self._marked(meta.SAFE)

    @property
    def finalized(self) -> BlockNumber | None:
        """Return the finalized block's number, None before there is one."""
        return self._marked(meta.FINALIZED)

    def number_of(self, block_hash: bytes) -> BlockNumber | None:
        """Return the number of a canonical block, None for any other hash."""
        key = self.reader.get(NUMBERS, block_hash)
        return None if key is None else number_from(key)

    def hash_of(self, number: int) -> Hash32 | None:
        """Return the hash of a canonical block, None beyond the head."""
        if number == self.number:
            return self.head.hash
        row = self.reader.get(HEADERS, number_key(number))
        return None if row is None else Hash32(header_fields(row).hash)

    @property
    def is_merged(self) -> bool:
        """Return whether the head is a proof-of-stake block."""
        row = self.header(self.number)
        # A genesis may have difficulty 0 without being one.
        return self.number > 0 and row is not None and header_fields(row).difficulty == 0

    def block_rows(self, block_hash: bytes) -> Rows | None:
        """Return header and body row of a block, canonical or not, None when it is unknown."""
        number = self.number_of(block_hash)
        if number is None:
            header, body = self.side_header(block_hash), self.side_body(block_hash)
        else:
            header, body = self.header(number), self.body(number)
        return None if header is None or body is None else (header, body)

    def parent_hash(self, header: bytes) -> Hash32:
        """Return the parent's hash out of a header row."""
        return Hash32(header_fields(header).parent_hash)

    def header(self, number: int) -> bytes | None:
        """Return a canonical block's header row, None beyond the head."""
        return self.reader.get(HEADERS, number_key(number))

    def body(self, number: int) -> bytes | None:
        """Return a canonical block's body row, None beyond the head."""
        return self.reader.get(BODIES, number_key(number))

    def receipts(self, number: int) -> bytes | None:
        """Return a canonical block's receipts row, None beyond the head."""
        return self.reader.get(RECEIPTS, number_key(number))

    def view_body(self, number: int) -> Row | None:
        """Return a canonical block's body row, good until the snapshot is closed; None beyond the head."""
        return self.reader.view(BODIES, number_key(number))

    def view_receipts(self, number: int) -> Row | None:
        """Return a canonical block's receipts row, as good as long; None beyond the head."""
        return self.reader.view(RECEIPTS, number_key(number))

    def total_difficulty(self, number: int) -> int:
        """Return the difficulties of a canonical block and all before it, added up."""
        return canonical.totals(self.reader, number).difficulty

    def total_difficulty_of(self, block_hash: bytes) -> int | None:
        """Return the total difficulty of a block, canonical or beside the chain, None when it is unknown."""
        number = self.number_of(block_hash)
        return (
            side.total_difficulty(self.reader, block_hash)
            if number is None
            else self.total_difficulty(number)
        )

    def log_count_before(self, number: int) -> int:
        """Return how many logs the canonical blocks before this one have: its first log's number.

        The genesis block has none, so that block 1 has the first one, which may not be number 0.
        """
        return logs_before(self.reader, max(number, 1))

    def place_of_log(self, log: int) -> tuple[BlockNumber, int]:
        """Return in which canonical block the log of this number in the chain is, and its index there."""
        ((number, indices),), _place = locate_logs(self.reader, log, ITSELF, 0, 1)
        return BlockNumber(number), indices[0]

    def transaction(self, transaction_hash: bytes) -> tuple[BlockNumber, int] | None:
        """Return a canonical transaction's block number and its index there, None when unknown."""
        found = find_transaction(self.reader, transaction_hash)
        return None if found is None else (BlockNumber(found[0]), found[1])

    def side_header(self, block_hash: bytes) -> bytes | None:
        """Return the header row of a block beside the canonical chain."""
        return side.header(self.reader, block_hash)

    def side_body(self, block_hash: bytes) -> bytes | None:
        """Return the body row of a block beside the canonical chain."""
        return side.body(self.reader, block_hash)

    def side_receipts(self, block_hash: bytes) -> bytes | None:
        """Return the receipts row of a block that was canonical once, None for other blocks."""
        return side.receipts(self.reader, block_hash)

    def close(self) -> None:
        """End the snapshot."""
        self.reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.reader.close()

    def _marked(self, mark: bytes) -> BlockNumber | None:
        head = meta.marked_head(self.reader, mark)
        return None if head is None else head.number
