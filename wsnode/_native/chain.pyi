"""Blocks as the store keeps them: their rows read, written as JSON text as geth prints it, and looked up.

A row is bytes, or a read-only contiguous view of the store's pages, which must stay good during the call; any
other buffer is a BufferError. Every function here that is given a row raises CorruptRowError where the row
cannot be read. All keep the interpreter's lock.

Those that are given a `Reader` or a `Writer` need one of a chain's environment, with the tables of `TABLES`,
and raise StoreError for another, and SnapshotLostError once it has ended.
"""

from collections.abc import Sequence
from typing import Self, final

from wsnode._native.evm import EngineError
from wsnode._native.store import Reader, Writer

TABLES: tuple[str, ...]
"""The names of a chain's tables."""

class CorruptRowError(EngineError):
    """A stored row cannot be read as what it was taken for."""

@final
class Header:
    """Members of a header. Hashes are 32 bytes; what the block's fork did not know is None."""

    @property
    def number(self) -> int: ...
    @property
    def hash(self) -> bytes: ...
    @property
    def parent_hash(self) -> bytes: ...
    @property
    def state_root(self) -> bytes: ...
    @property
    def beneficiary(self) -> bytes:
        """Return the 20 bytes of the address that the block's fees go to."""

    @property
    def timestamp(self) -> int:
        """Return seconds since 1970."""

    @property
    def gas_limit(self) -> int: ...
    @property
    def gas_used(self) -> int: ...
    @property
    def difficulty(self) -> int: ...
    @property
    def base_fee(self) -> int | None:
        """Return wei a gas, None before London."""

    @property
    def blob_gas_used(self) -> int | None: ...
    @property
    def excess_blob_gas(self) -> int | None: ...
    @property
    def blob_base_fee(self) -> int | None:
        """Return wei a blob gas, None before blobs; 2**128 - 1 stands for every price above."""

    @property
    def slot_number(self) -> int | None:
        """Return the slot of the beacon chain, None before Amsterdam."""

    @property
    def block_access_list_hash(self) -> bytes | None: ...

def header_fields(header: bytes) -> Header:
    """Return the members of a header row."""

def block_rlp(header: bytes, body: bytes | memoryview) -> bytes:
    """Return the RLP of a block, put together from its rows."""

def transaction_count(body: bytes | memoryview) -> int:
    """Return how many transactions a body row has."""

def transaction_hashes(body: bytes | memoryview) -> bytes:
    """Return the hashes of a block's transactions, 32 bytes each, one after another."""

def transaction_parties(body: bytes | memoryview) -> list[tuple[bytes, bytes | None]]:
    """Return sender and receiver of each of a block's transactions; a creation has no receiver."""

def ommer_hashes(body: bytes | memoryview) -> bytes:
    """Return the hashes of a block's ommers, 32 bytes each, one after another."""

def log_count(receipts: bytes | memoryview) -> int:
    """Return how many logs a receipts row has."""

def log_values(receipts: bytes | memoryview) -> list[tuple[bytes, tuple[bytes, ...]]]:
    """Return the address (20 bytes) and the topics (32 bytes each) of each log of a block, in order."""

def log_entries(receipts: Sequence[bytes], first: int) -> list[tuple[bytes, bytes]]:
    """Return the entries of the log index for consecutive blocks whose logs are numbered from `first` on.

    They are sorted by key: one byte of kind (0 an address, 1 to 4 a topic by its position, 5 the number of
    topics), the value, and a chunk of 65,536 logs as 4 bytes big-endian. A value is the ascending places of
    the logs in their chunk, 4 bytes little-endian each.

    Raises:
        CorruptRowError: Also for a log number of 2**48 or more.
    """

def append_blocks(writer: Writer, blocks: Sequence[tuple[bytes, bytes, bytes]], /) -> int:
    """Append a run of blocks behind the last canonical one, or to an empty chain.

    They are given by header, body and receipts row each; what adds up through each, the block of each log and
    the places of the transactions are written too. Returns how many logs the blocks before them have.

    Raises:
        StoreError: They do not follow the last block.
        CorruptRowError: Also for a block number of 2**40 or more, or 2**24 transactions in a block.
    """

def remove_last_block(writer: Writer, number: int, /) -> None:
    """Remove the rows of the last canonical block, those of `append_blocks`.

    Raises:
        CorruptRowError: There is no such block.
    """

def prepend_block(writer: Writer, header: bytes, body: bytes, receipts: bytes, /) -> int:
    """Put a block below the first canonical one, and return the number of its first log.

    Raises:
        CorruptRowError: There are no totals through the block, or fewer logs below than it has.
    """

def remove_first_block(writer: Writer, number: int, /) -> None:
    """Remove the rows of the first canonical block; what adds up through it stays.

    Raises:
        CorruptRowError: There is no such block.
    """

def chain_totals(reader: Reader, number: int, /) -> tuple[int, int]:
    """Return how many logs a canonical block and all before it have, and their difficulties added up.

    Raises:
        CorruptRowError: There is no such block.
    """

def logs_before(reader: Reader, number: int, /) -> int:
    """Return how many logs the canonical blocks before this one have: its first log's number.

    Raises:
        CorruptRowError: The block before is not canonical.
    """

def find_transaction(reader: Reader, hash: bytes, /) -> tuple[int, int] | None:
    """Return the block number of a canonical transaction and its index there, or None."""

def stored_transaction(reader: Reader, hash: bytes, /) -> bytes | None:
    """Return a canonical transaction as JSON, or None."""

def stored_receipt(reader: Reader, hash: bytes, /) -> bytes | None:
    """Return the receipt of a canonical transaction as JSON, or None."""

def locate_logs(
    reader: Reader, base: int, positions: bytes, start: int, most: int, /
) -> tuple[list[tuple[int, Sequence[int]]], int]:
    """Return in which canonical blocks logs lie, and the place in `positions` behind those that were used up.

    The logs are those numbered `base + position` for each of the ascending `positions` from place `start` on;
    these are the bytes of an `array("I")`. There are at most `most` blocks, each with its number and the
    ascending indices of the logs in it.

    Raises:
        CorruptRowError: There is no log of such a number.
        ValueError: The bytes are no array's.
    """

@final
class LogCriteria:
    """The addresses and topics of a filter of logs, of any block.

    A log matches if it has one of the addresses, at least as many topics as there are positions, and at each
    position one of its topics; where there are none, any.
    """

    def __new__(cls, addresses: Sequence[bytes], topics: Sequence[Sequence[bytes]], /) -> Self:
        """Take addresses of 20 bytes, and for each position topics of 32.

        Raises:
            ValueError: One has another length.
        """

    @property
    def count(self) -> int:
        """Return how many addresses and topics are named."""

    def groups(self) -> list[list[bytes]]:
        """Return keys of the log index without their chunks, in groups: a log must have one key of each.

        There are none if every log matches.
        """

    def find(
        self, reader: Reader, begin: int, end: int, most: int, /
    ) -> tuple[list[tuple[int, Sequence[int]]], int]:
        """Return which of the logs numbered `begin` to before `end` match, in the form of `locate_logs`.

        At most `most` logs are compared, where each block counts as 32 more, but one at the least. With them
        comes the number of the log behind the last one that was compared.

        Raises:
            CorruptRowError: There is no log of such a number.
        """

def blocks_of_logs(reader: Reader, begin: int, end: int, most: int, /) -> tuple[list[int], int]:
    """Return the numbers of the blocks that have the logs numbered `begin` to before `end`, at most `most`.

    With them comes the number of the log behind their last one.

    Raises:
        CorruptRowError: There is no log of such a number.
    """

def stored_logs(reader: Reader, blocks: Sequence[tuple[int, Sequence[int] | None]], /) -> bytes:
    """Return logs of canonical blocks as JSON objects with commas between, without brackets.

    `blocks` are as `locate_logs` returns them; None stands for all logs of a block.

    Raises:
        CorruptRowError: One of the blocks, or of the logs, is not there.
    """

def stored_log_texts(
    reader: Reader, blocks: Sequence[tuple[int, Sequence[int]]], room: int, /
) -> list[bytes]:
    """Return logs of canonical blocks, given by their indices, each as a JSON object, in their order.

    They end before the first that does not fit into `room` bytes any more, with a comma behind each.

    Raises:
        CorruptRowError: One of the blocks, or of the logs, is not there.
    """

def render_block(
    header: bytes,
    body: bytes | memoryview,
    *,
    full: bool,
    pending: bool = False,
    with_total_difficulty: bool = False,
    total_difficulty: int | None = None,
) -> bytes:
    """Return a block object as JSON, with transaction objects if it is `full`, else with their hashes.

    With `pending`, members that only a sealed block has are null. With `with_total_difficulty` it has that
    member, null where it is None.
    """

def render_uncle(
    body: bytes | memoryview, index: int, *, with_total_difficulty: bool = False
) -> bytes | None:
    """Return an ommer as a block object without transactions, or None where there is no such one.

    With `with_total_difficulty` it has that member, which is null.
    """

def render_access_list(encoded: bytes, /) -> bytes:
    """Return a block access list, given by its RLP, as the array of eth_getBlockAccessList."""

def render_transaction(
    header: bytes, body: bytes | memoryview, index: int, *, pending: bool = False
) -> bytes | None:
    """Return a transaction object as JSON, or None where the block has no such one.

    With `pending`, the members that name its block are null.
    """

def render_receipts(header: bytes, body: bytes | memoryview, receipts: bytes | memoryview) -> bytes:
    """Return the receipts of a block as a JSON array."""

def render_header(header: bytes) -> bytes:
    """Return a header alone as JSON, as subscribers to new heads receive it.

    Members that its fork does not know are null.
    """

def render_payload(header: bytes, body: bytes | memoryview, access_list: bytes | None = None) -> bytes:
    """Return a block after the merge as a payload of the Engine API, as JSON.

    `access_list` is the RLP of its block access list, from Amsterdam on.
    """

def render_payload_body(
    body: bytes | memoryview, access_list: bytes | None = None, *, with_access_list: bool = False
) -> bytes:
    """Return the transactions and withdrawals of a block as the Engine API has them, as JSON.

    With `with_access_list` its access list is there too, null for None.
    """

def render_each_log(
    header: bytes,
    body: bytes | memoryview,
    receipts: bytes | memoryview,
    indices: Sequence[int],
    *,
    removed: bool = False,
) -> list[bytes]:
    """Return a JSON object for each log of a block at these indices; `removed` is its member of that name.

    Raises:
        CorruptRowError: Also for an index that the block does not have.
    """
