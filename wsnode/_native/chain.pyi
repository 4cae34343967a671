"""Blocks in the form of the store: their rows read, written as JSON text as geth prints it, and looked up.

A row is bytes, or a read-only contiguous view of the store's pages, which must stay valid during the call;
any other buffer is a BufferError. Every function with a row raises CorruptRowError if the row cannot be read.
All keep the interpreter's lock.

Functions with a `Reader` or a `Writer` need one of a chain's environment, with the tables of `TABLES`. They
raise StoreError for another, and SnapshotLostError once it has ended.
"""

from collections.abc import Sequence
from typing import Self, final

from wsnode._native.evm import EngineError
from wsnode._native.store import Reader, Writer

TABLES: tuple[str, ...]
"""Names of a chain's tables."""

class CorruptRowError(EngineError):
    """A stored row cannot be read in the expected form."""

@final
class Header:
    """Members of a header. Hashes are 32 bytes; members that the block's fork does not have are None.

    `beneficiary` is the address that receives the block's fees, 20 bytes. `timestamp` is in seconds since
    1970, `base_fee` in wei per gas. `blob_base_fee` is the price in wei per blob gas, where 2**128 - 1 stands
    for every higher price. `slot_number` is the slot of the beacon chain.
    """

    @property
    def number(self) -> int: ...
    @property
    def hash(self) -> bytes: ...
    @property
    def parent_hash(self) -> bytes: ...
    @property
    def state_root(self) -> bytes: ...
    @property
    def beneficiary(self) -> bytes: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def gas_limit(self) -> int: ...
    @property
    def gas_used(self) -> int: ...
    @property
    def difficulty(self) -> int: ...
    @property
    def base_fee(self) -> int | None: ...
    @property
    def blob_gas_used(self) -> int | None: ...
    @property
    def excess_blob_gas(self) -> int | None: ...
    @property
    def blob_base_fee(self) -> int | None: ...
    @property
    def slot_number(self) -> int | None: ...
    @property
    def block_access_list_hash(self) -> bytes | None: ...

def header_fields(header: bytes) -> Header:
    """Return the members of a header row."""

def block_rlp(header: bytes, body: bytes | memoryview) -> bytes:
    """Return the RLP of a block from its rows."""

def transaction_count(body: bytes | memoryview) -> int:
    """Return the number of transactions in a body row."""

def transaction_hashes(body: bytes | memoryview) -> bytes:
    """Return the hashes of a block's transactions, 32 bytes each, one after another."""

def transaction_parties(body: bytes | memoryview) -> list[tuple[bytes, bytes | None]]:
    """Return sender and receiver of each of a block's transactions, None for the receiver of a creation."""

def ommer_hashes(body: bytes | memoryview) -> bytes:
    """Return the hashes of a block's ommers, 32 bytes each, one after another."""

def log_count(receipts: bytes | memoryview) -> int:
    """Return the number of logs in a receipts row."""

def log_values(receipts: bytes | memoryview) -> list[tuple[bytes, tuple[bytes, ...]]]:
    """Return the address (20 bytes) and the topics (32 bytes each) of each log of a block, in order."""

def log_entries(receipts: Sequence[bytes], first: int) -> list[tuple[bytes, bytes]]:
    """Return the entries of the log index for consecutive blocks whose logs are numbered from `first` on.

    They are sorted by key: one byte of kind (0 an address, 1 to 4 a topic by its position, 5 the number of
    topics), the value, and a chunk of 65,536 logs as 4 bytes big-endian. The value of an entry is the
    ascending positions of the logs in their chunk, 4 bytes little-endian each.

    Raises:
        CorruptRowError: Also for a log number of 2**48 or more.
    """

def append_blocks(writer: Writer, blocks: Sequence[tuple[bytes, bytes, bytes]], /) -> int:
    """Append consecutive blocks after the last canonical one, and return the number of logs before them.

    Each block is its header, body and receipts row; the chain may be empty. The running totals, the block of
    each log and the locations of the transactions are written too.

    Raises:
        StoreError: The blocks do not follow the last block.
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
        CorruptRowError: There are no totals through the block, or they count fewer logs than it has.
    """

def remove_first_block(writer: Writer, number: int, /) -> None:
    """Remove the rows of the first canonical block. Its running totals stay.

    Raises:
        CorruptRowError: There is no such block.
    """

def chain_totals(reader: Reader, number: int, /) -> tuple[int, int]:
    """Return the number of logs in a canonical block and all before it, and their total difficulty.

    Raises:
        CorruptRowError: There is no such block.
    """

def logs_before(reader: Reader, number: int, /) -> int:
    """Return the number of logs in the canonical blocks before block `number`: its first log's number.

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
    """Return (block number, ascending indices of logs in the block) for at most `most` canonical blocks.

    Each item of `positions` from index `start` on is added to `base`: the sum is the number of a log. The
    items are ascending, in the bytes of an `array("I")`. The second result is the index of the first unused
    item.

    Raises:
        CorruptRowError: There is no log of such a number.
        ValueError: The bytes are no array's.
    """

@final
class LogCriteria:
    """Addresses and topics of a filter of logs, for any block.

    A log matches if it has one of the addresses, at least as many topics as there are positions, and at each
    position one of its topics. An empty list of addresses or topics matches any.
    """

    def __new__(cls, addresses: Sequence[bytes], topics: Sequence[Sequence[bytes]], /) -> Self:
        """Take addresses of 20 bytes, and for each position topics of 32.

        Raises:
            ValueError: One has another length.
        """

    @property
    def count(self) -> int:
        """Return the number of addresses and topics."""

    def groups(self) -> list[list[bytes]]:
        """Return groups of keys of the log index without their chunks. A matching log has one key of each.

        There are no groups if every log matches.
        """

    def find(
        self, reader: Reader, begin: int, end: int, most: int, /
    ) -> tuple[list[tuple[int, Sequence[int]]], int]:
        """Return the matching logs among those numbered `begin` to before `end`, and the next log's number.

        The logs are given as by `locate_logs`. The next log is the first one not compared. At most `most`
        logs are compared, but at least one; each block counts as 32 more.

        Raises:
            CorruptRowError: There is no log of such a number.
        """

def blocks_of_logs(reader: Reader, begin: int, end: int, most: int, /) -> tuple[list[int], int]:
    """Return the numbers of at most `most` blocks that hold the logs from `begin` to before `end`.

    The second result is the number of the first log after these blocks.

    Raises:
        CorruptRowError: There is no log of such a number.
    """

def stored_logs(reader: Reader, blocks: Sequence[tuple[int, Sequence[int] | None]], /) -> bytes:
    """Return logs of canonical blocks as JSON objects, joined by commas, without brackets.

    `blocks` have the form of `locate_logs`; None stands for all logs of a block.

    Raises:
        CorruptRowError: One of the blocks, or of the logs, is missing.
    """

def stored_log_texts(
    reader: Reader, blocks: Sequence[tuple[int, Sequence[int]]], room: int, /
) -> list[bytes]:
    """Return logs of canonical blocks, given by their indices, each as a JSON object, in their order.

    The list ends before the first log by which it would exceed `room` bytes, with a comma counted for each.

    Raises:
        CorruptRowError: One of the blocks, or of the logs, is missing.
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

    With `pending`, the members of a sealed block alone are null. With `with_total_difficulty` it has that
    member, null if it is None.
    """

def render_uncle(
    body: bytes | memoryview, index: int, *, with_total_difficulty: bool = False
) -> bytes | None:
    """Return an ommer as a block object without transactions, or None if there is no such ommer.

    With `with_total_difficulty` it has that member as null.
    """

def render_access_list(encoded: bytes, /) -> bytes:
    """Return the block access list in RLP as the array of `eth_getBlockAccessList`."""

def render_transaction(
    header: bytes, body: bytes | memoryview, index: int, *, pending: bool = False
) -> bytes | None:
    """Return a transaction object as JSON, or None if the block has no such transaction.

    With `pending`, the members of its block are null.
    """

def render_receipts(header: bytes, body: bytes | memoryview, receipts: bytes | memoryview) -> bytes:
    """Return the receipts of a block as a JSON array."""

def render_header(header: bytes) -> bytes:
    """Return a header alone as JSON, as subscribers to new heads receive it.

    Members that its fork does not have are null.
    """

def render_payload(header: bytes, body: bytes | memoryview, access_list: bytes | None = None) -> bytes:
    """Return a block after the merge as a payload of the Engine API, as JSON.

    `access_list` is the RLP of its block access list, from Amsterdam on.
    """

def render_payload_body(
    body: bytes | memoryview, access_list: bytes | None = None, *, with_access_list: bool = False
) -> bytes:
    """Return the transactions and withdrawals of a block as a payload's body of the Engine API, as JSON.

    With `with_access_list` it has the access list too, null for None.
    """

def render_each_log(
    header: bytes,
    body: bytes | memoryview,
    receipts: bytes | memoryview,
    indices: Sequence[int],
    *,
    removed: bool = False,
) -> list[bytes]:
    """Return a JSON object for each log of a block at these indices, with `removed` as its member.

    Raises:
        CorruptRowError: Also for an index that the block does not have.
    """
