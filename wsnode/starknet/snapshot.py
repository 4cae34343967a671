"""Snapshot of the chain at one moment, with all reads of a request."""

from types import TracebackType
from typing import Final, Self

from wsnode.starknet.body import StoredBody, accepted_on_l1, decode_body
from wsnode.starknet.followed import FollowedState, PreConfirmedBlock, StateValue, ValueKind
from wsnode.starknet.storage.tables import (
    BLOCKS,
    BODIES,
    CHAIN_ID_KEY,
    CLASS_AT,
    CLASSES,
    COMPILED_AT,
    DIFFS,
    DROPPED,
    EVENT_BLOOMS,
    FIRST_BLOCK_KEY,
    FIRST_NAMED,
    META,
    MISSING,
    NONCE_AT,
    NUMBER_BYTES,
    NUMBERS,
    STORAGE_AT,
    TRANSACTIONS,
    WHOLE_STATE_KEY,
    WINDOW_KEY,
    BlockRow,
    decode_block,
    decompress,
    entry_at,
    first_entry,
    key_number,
    number_key,
    value_at,
)
from wsnode.starknet.storage.writing import DEPLOYED
from wsnode.store.environment import Reader
from wsnode.store.table import last_key, scan

BEFORE_0_10: Final = "v0_9"
NEWEST: Final = "v0_10"
SPEC_VERSIONS: Final = {BEFORE_0_10: "0.9.0", NEWEST: "0.10.3"}
"""Releases of starknet-specs, by their names at the ends of paths."""


class StarknetSnapshot:
    """Read-only view of a Starknet chain as it was when the snapshot was opened; a context manager that
    closes the reader.
    """

    __slots__ = ("_reader", "followed", "rpc_version")

    def __init__(
        self, reader: Reader, rpc_version: str | None = None, followed: FollowedState | None = None
    ) -> None:
        """Read from `reader`; `rpc_version` is the version in the request's path, None the newest."""
        self._reader = reader
        self.rpc_version = rpc_version or NEWEST
        """Version of the specification that results have, as at the ends of paths."""
        self.followed = followed
        """State of the chain besides its blocks; None if it follows no other node."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reader.close()

    @property
    def pre_confirmed(self) -> PreConfirmedBlock | None:
        """Return the block that is being built on the head; None if that is empty, or not known."""
        block = None if self.followed is None else self.followed.pre_confirmed
        if block is None or self.number_of(block.parent_hash) != self.head:
            return None
        return block

    @property
    def l1_accepted(self) -> int | None:
        """Return the number of the last block that L1 has accepted, None if it is not known or not stored."""
        told = None if self.followed is None else self.followed.l1_accepted
        if told is None or self.number_of(told[1]) != told[0]:
            return None
        return told[0]

    @property
    def spec_version(self) -> str:
        """Return the release of starknet-specs that results have, such as 0.10.3."""
        return SPEC_VERSIONS[self.rpc_version]

    @property
    def is_before_0_10(self) -> bool:
        """Return True if results leave out members added by starknet-specs 0.10."""
        return self.rpc_version == BEFORE_0_10

    @property
    def version(self) -> int:
        return self._reader.version

    @property
    def head(self) -> int | None:
        """Return the number of the last block, or None for an empty chain."""
        key = last_key(self._reader, BLOCKS)
        return None if key is None else key_number(key)

    @property
    def first_block(self) -> int:
        """Return the number of the first stored block; 0 for an empty chain unless it was set."""
        key = self._reader.get(META, FIRST_BLOCK_KEY)
        return 0 if key is None else key_number(key)

    @property
    def window(self) -> int | None:
        """Return the number of blocks that the folder keeps, or None for all."""
        key = self._reader.get(META, WINDOW_KEY)
        return None if key is None else key_number(key)

    @property
    def has_whole_state(self) -> bool:
        """Return True if no block below the first stored one has written a value that is not stored."""
        return not self.first_block or self.keeps_state

    @property
    def keeps_state(self) -> bool:
        """Return True if the folder has a window, and keeps the state written before it."""
        return self._reader.get(META, WHOLE_STATE_KEY) is not None

    @property
    def chain_id(self) -> str | None:
        """Return the chain's name, such as SN_MAIN, or None if it is unknown."""
        name = self._reader.get(META, CHAIN_ID_KEY)
        return None if name is None else name.decode()

    def block(self, number: int) -> BlockRow | None:
        row = self._reader.get(BLOCKS, number_key(number))
        return None if row is None else decode_block(row)

    def number_of(self, block_hash: bytes) -> int | None:
        """Return the number of the block with this hash, or None if it is not on the chain."""
        key = self._reader.get(NUMBERS, block_hash)
        return None if key is None else key_number(key)

    def dropped(self, block_hash: bytes) -> tuple[int, bytes] | None:
        """Return number and parent hash of a block that has left the chain, or None for any other."""
        value = self._reader.get(DROPPED, block_hash)
        return None if value is None else (key_number(value[:NUMBER_BYTES]), value[NUMBER_BYTES:])

    def diff_text(self, number: int) -> bytes | None:
        frame = self._reader.get(DIFFS, number_key(number))
        return None if frame is None else decompress(frame)

    def body(self, number: int) -> StoredBody | None:
        """Return transactions and receipts of block `number`, or None if the block is stored without them."""
        frame = self._reader.get(BODIES, number_key(number))
        if frame is None:
            return None
        accepted = self.l1_accepted
        text = decompress(frame)
        return decode_body(text if accepted is None or number > accepted else accepted_on_l1(text))

    def event_bloom(self, number: int) -> bytes | None:
        """Return the Bloom filter of block `number`'s events, or None if it is stored without its body."""
        return self._reader.get(EVENT_BLOOMS, number_key(number))

    def transaction(self, transaction_hash: bytes) -> tuple[int, int] | None:
        """Return the number of a transaction's block and its index in the block, or None if unknown."""
        place = self._reader.get(TRANSACTIONS, transaction_hash)
        if place is None:
            return None
        return key_number(place[:NUMBER_BYTES]), int.from_bytes(place[NUMBER_BYTES:], "big")

    def class_hash_at(self, address: bytes, number: int) -> bytes | None:
        """Return the class hash of a contract after block `number`, or None if it does not exist."""
        value = value_at(self._reader, CLASS_AT, address, number)
        return None if value is None else value[:-1]

    def nonce_at(self, address: bytes, number: int) -> bytes | None:
        """Return the nonce of a contract after block `number`, or None if none was written."""
        return value_at(self._reader, NONCE_AT, address, number)

    def compiled_at(self, class_hash: bytes, number: int) -> bytes | None:
        """Return the compiled class hash of a class after block `number`, None if it has none."""
        return value_at(self._reader, COMPILED_AT, class_hash, number)

    def storage_at(self, address: bytes, key: bytes, number: int) -> tuple[bytes, int] | None:
        """Return a slot's value after block `number`, and the number of the block that wrote it; None if no
        block up to it did.
        """
        entry = entry_at(self._reader, STORAGE_AT, address + key, number)
        return None if entry is None else (entry[1].rjust(32, b"\x00"), key_number(entry[0]))

    def was_deployed_here(self, address: bytes, last: int | None = None) -> bool:
        """Return True if the contract was deployed in the stored history: its unwritten slots are zero.

        With `last`, only deployments up to that block count.
        """
        if (entry := first_entry(self._reader, CLASS_AT, address)) is None:
            return False
        key, value = entry
        return value[-1:] == DEPLOYED and (last is None or key_number(key) <= last)

    def first_change(self, wanted: StateValue) -> int | None:
        """Return the number of the first stored block that changes a value, or None if none does."""
        tables = {ValueKind.CLASS_HASH: CLASS_AT, ValueKind.NONCE: NONCE_AT, ValueKind.SLOT: STORAGE_AT}
        entry = first_entry(self._reader, tables[wanted.kind], wanted.address + wanted.key)
        return None if entry is None else key_number(entry[0])

    def rendered_class(self, class_hash: bytes) -> bytes | None:
        """Return the JSON of a class as in results, or None if its definition is not stored."""
        row = self._reader.get(CLASSES, class_hash)
        return None if row is None else decompress(memoryview(row)[1:])

    def has_class(self, class_hash: bytes) -> bool:
        return self._reader.get(CLASSES, class_hash) is not None

    def first_named(self, class_hash: bytes) -> int | None:
        """Return the number of the first block that names the class, None if none does."""
        key = self._reader.get(FIRST_NAMED, class_hash)
        return None if key is None else key_number(key)

    def missing_classes(self) -> list[tuple[bytes, int]]:
        """Return the hash of each class without a stored definition, and the first block that names it."""
        return [(class_hash, key_number(key)) for class_hash, key in scan(self._reader, MISSING, b"")]
