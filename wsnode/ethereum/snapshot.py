"""Snapshot of the chain: all reads from it see one head."""

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias, TypeVar

from wsnode.ethereum.codec.chain_tables import ITSELF, find_transaction, locate_logs, logs_before
from wsnode.ethereum.codec.rows import Row, Rows, header_fields
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.state import ChainSpec, HeadSnapshot, State
from wsnode.ethereum.state_fetchers import StateFetchers
from wsnode.ethereum.storage import canonical, chain_ids, meta, side_blocks
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.ethereum.storage.tables import (
    ACCESS_LISTS,
    BODIES,
    HEADERS,
    NUMBERS,
    RECEIPTS,
    number_from,
    number_key,
)
from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.store.environment import Environment, Reader
from wsnode.store.table import Table

Stored = TypeVar("Stored", bytes | None, Row | None)

BlockName: TypeAlias = int | bytes
"""Block of the chain below the first block, by number or by hash."""


class HistoricalChain(Protocol):
    """Chain that ends with a block below a fork's first one; values of its state are fetched from the other
    chain's nodes with proofs. Implemented by `ProvedHistoricalChain`.
    """

    @property
    def fetchers(self) -> StateFetchers: ...

    def snapshot(self, caller: "CallerContext") -> "Snapshot": ...


class ForkBackend(Protocol):
    """Nodes of the other chain of a fork, from which blocks and states below the fork's first block are read;
    implemented by `UpstreamForkBackend`.
    """

    def close(self) -> None:
        """Close all chains that were returned."""

    async def ask(self, method: str, params: list[Any]) -> bytes:
        """Return the JSON text of a call's result, unverified.

        Raises:
            UpstreamError: No node returns a result.
        """

    async def ask_each(self, method: str, calls: Sequence[list[Any]]) -> list[bytes]:
        """Return the JSON text of each call's result, unverified.

        Raises:
            UpstreamError: No node returns all results.
        """

    async def begun_at(self, block: BlockName) -> HistoricalChain:
        """Return a chain with this block alone, and the state after it.

        Raises:
            RpcError: No node has the block, or proves its state.
        """

    async def executed(self, block: BlockName) -> HistoricalChain:
        """Return a chain of this block and its parent; the block has been executed on the parent's proved
        state.

        Raises:
            RpcError: No node has the blocks or proves the state, or the outcome differs from the header.
        """


class SnapshotSource(Protocol):
    """Open chain from which `Snapshot` reads; implemented by `Chain`."""

    store: Environment
    spec: ChainSpec
    state: State
    window: int | None
    is_light: bool
    kind: FolderKind
    below: ForkBackend | None

    def head_in(self, reader: Reader) -> Head: ...

    def earliest_in(self, reader: Reader) -> BlockNumber: ...

    def has_begun_in(self, reader: Reader) -> bool:
        """Return True if `reader` sees the first block; False only in a new light folder."""


class CallerContext(Protocol):
    """Caller of a method: its API key, its connection, and the form of its replies. `service_form` is True
    for the form of the service specification, False for a plain node's.
    """

    @property
    def service_form(self) -> bool: ...

    @property
    def key_name(self) -> str | None:
        """Return the name of the caller's API key, None without one."""

    @property
    def client(self) -> ClientId | None:
        """Return the caller's connection, None for a call of the program itself."""


class Snapshot:
    """Consistent view of the chain up to one head, and of the side blocks stored then; a context manager that
    holds a read transaction.
    """

    __slots__ = (
        "_chain",
        "_is_pinned",
        "_native_view",
        "caller",
        "head",
        "moment",
        "number",
        "reader",
        "spec",
        "state",
    )

    def __init__(self, chain: SnapshotSource, caller: CallerContext) -> None:
        self._chain = chain
        self.reader = reader = chain.store.read()
        self.spec = chain.spec
        self.state = chain.state
        self.caller = caller
        self.head = self.moment = chain.head_in(reader)
        self.number = self.head.number
        self._native_view: HeadSnapshot | None = None
        self._is_pinned = False

    @property
    def native_view(self) -> HeadSnapshot:
        return self._native_view_of(self.state)

    def _native_view_of(self, state: State) -> HeadSnapshot:
        if self._native_view is None:
            is_plain = not self.caller.service_form
            self._native_view = HeadSnapshot(
                state, self.reader, self.number, self.head.hash, is_plain=is_plain
            )
        return self._native_view

    @property
    def version(self) -> int:
        """Return the version of the chain's store; snapshots with one version see the same chain."""
        return self.reader.version

    @property
    def chain_id(self) -> int:
        """Return the chain id of blocks after the head."""
        changes = chain_ids.chain_ids(self.reader)
        # The specification may already have changes of the chain id that are later than this snapshot, so
        # only its first id is used.
        return chain_ids.id_of(changes, self.spec.chain_id_at(0), self.number + 1)

    @property
    def earliest(self) -> BlockNumber:
        """Return the number of the first block; 0 except in a folder with a window."""
        return self._chain.earliest_in(self.reader)

    @property
    def has_begun(self) -> bool:
        """Return True if the first block is stored; False only in a new light folder."""
        return self._chain.has_begun_in(self.reader)

    @property
    def window(self) -> int | None:
        """Return the number of blocks kept, None for all."""
        return self._chain.window

    @property
    def retained(self) -> int:
        """Return the number of blocks kept: the window's, or for a window by time the blocks there are."""
        kept = self.number - self.earliest + 1
        return kept if self._chain.kind.window_seconds is not None else self._chain.window or kept

    @property
    def is_light(self) -> bool:
        """Return True if blocks are not executed, and states are known by proofs alone."""
        return self._chain.is_light

    @property
    def below(self) -> ForkBackend | None:
        """Return the nodes of the chain below the first block, None if this is no forked chain."""
        return self._chain.below

    @property
    def head_timestamp(self) -> int:
        """Return the head's timestamp, in Unix seconds."""
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
        row = self.header(number)
        return None if row is None else Hash32(header_fields(row).hash)

    @property
    def is_merged(self) -> bool:
        """Return True if the head is a block of proof of stake."""
        row = self.header(self.number)
        # A genesis block may have difficulty 0 without being a block of proof of stake.
        return self.number > 0 and row is not None and header_fields(row).difficulty == 0

    def block_rows(self, block_hash: bytes) -> Rows | None:
        """Return header and body row of a block, canonical or not, None if it is unknown."""
        number = self.number_of(block_hash)
        if number is None:
            header, body = self.side_header(block_hash), self.side_body(block_hash)
        else:
            header, body = self.header(number), self.body(number)
        return None if header is None or body is None else (header, body)

    def parent_hash(self, header: bytes) -> Hash32:
        return Hash32(header_fields(header).parent_hash)

    def header(self, number: int) -> bytes | None:
        """Return a canonical block's header row, None beyond the head; `body` and `receipts` likewise.

        Raises:
            DamagedRowError: The row is damaged or missing.
        """
        return self._checked(HEADERS, number, self.reader.get(HEADERS, number_key(number)))

    def body(self, number: int) -> bytes | None:
        return self._checked(BODIES, number, self.reader.get(BODIES, number_key(number)))

    def receipts(self, number: int) -> bytes | None:
        return self._checked(RECEIPTS, number, self.reader.get(RECEIPTS, number_key(number)))

    def view_body(self, number: int) -> Row | None:
        """Return a canonical block's body row, valid until the snapshot is closed; None beyond the head."""
        return self._checked(BODIES, number, self.reader.view(BODIES, number_key(number)))

    def view_receipts(self, number: int) -> Row | None:
        """Return a canonical block's receipts row, as `view_body` its body; None beyond the head."""
        return self._checked(RECEIPTS, number, self.reader.view(RECEIPTS, number_key(number)))

    def _checked(self, table: Table, number: int, row: Stored) -> Stored:
        """Return the row of a canonical block, None beyond the chain's ends.

        Raises:
            DamagedRowError: The row is missing.
        """
        # A light folder or a fork may have only the header of its first block, so `earliest` itself is not
        # checked.
        if row is None and self.earliest < number <= self.number:
            raise self.reader.missing(table, number_key(number))
        return row

    def total_difficulty(self, number: int) -> int:
        """Return the total difficulty of a canonical block: its own and that of all blocks before it."""
        return canonical.totals(self.reader, number).difficulty

    def total_difficulty_of(self, block_hash: bytes) -> int | None:
        """Return the total difficulty of a block, canonical or not, None if it is unknown."""
        number = self.number_of(block_hash)
        return (
            side_blocks.total_difficulty(self.reader, block_hash)
            if number is None
            else self.total_difficulty(number)
        )

    def log_count_before(self, number: int) -> int:
        """Return the number of logs in canonical blocks before this one, the number of its first log.

        The genesis block has no logs. In a folder with a window, the number of block 1's first log need not
        be 0.
        """
        return logs_before(self.reader, max(number, 1))

    def place_of_log(self, log: int) -> tuple[BlockNumber, int]:
        """Return block number and index in the block of the log with this number in the chain."""
        ((number, indices),), _place = locate_logs(self.reader, log, ITSELF, 0, 1)
        return BlockNumber(number), indices[0]

    def transaction(self, transaction_hash: bytes) -> tuple[BlockNumber, int] | None:
        """Return block number and index of a canonical transaction, None if unknown."""
        found = find_transaction(self.reader, transaction_hash)
        return None if found is None else (BlockNumber(found[0]), found[1])

    def side_header(self, block_hash: bytes) -> bytes | None:
        return side_blocks.header(self.reader, block_hash)

    def side_body(self, block_hash: bytes) -> bytes | None:
        return side_blocks.body(self.reader, block_hash)

    def side_receipts(self, block_hash: bytes) -> bytes | None:
        """Return the receipts row of a side block that was canonical once, None for other blocks."""
        return side_blocks.receipts(self.reader, block_hash)

    def access_list(self, block_hash: bytes) -> bytes | None:
        """Return the RLP of a block's access list (EIP-7928), None if it has none or it is not kept."""
        number = self.number_of(block_hash)
        if number is None:
            return side_blocks.access_list(self.reader, block_hash)
        return self.access_list_at(number)

    def access_list_at(self, number: int) -> bytes | None:
        return self.reader.get(ACCESS_LISTS, number_key(number))

    def pin(self) -> None:
        """Make all further reads of the state see one commit, like reads of the chain.

        The state after a block changes only by patches, on a development chain.
        """
        if not self._is_pinned:
            self.state = self.state.pin()
            self._native_view, self._is_pinned = None, True

    def close(self) -> None:
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
