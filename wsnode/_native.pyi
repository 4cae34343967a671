"""The engine: chain specification, verification, execution, EVM state, and JSON written from stored rows.

Numbers of blocks, seconds and gas are below 2**64; amounts of wei and difficulties below 2**256.
Hashes and slots are 32 bytes, addresses 20.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, final

from typing_extensions import disjoint_base

from wsnode.store.table import Table

_T = TypeVar("_T")

PLACE_BYTES: int

class EngineError(Exception): ...
class InvalidGenesisError(EngineError): ...

class InvalidBlockError(EngineError):
    number: int | None
    block_hash: bytes | None
    rule: str
    expected: str
    actual: str

class InvalidTransactionError(EngineError):
    kind: str

class StateError(EngineError): ...
class StateBusyError(StateError): ...

class HistoryError(StateError):
    requested: int
    earliest: int
    latest: int

class ReorganisedError(StateError):
    number: int
    wanted: bytes
    found: bytes | None

class BoundError(StateError): ...
class StoppedError(StateError): ...
class CorruptRowError(EngineError): ...
class StoreError(Exception): ...
class DiskFullError(StoreError): ...
class SnapshotLostError(StoreError): ...
class TooManySnapshotsError(StoreError): ...

@final
class Environment:
    """An open LMDB file of named tables. One process writes, any number read beside it.

    With `durable` each change is on the disk when `write` returns; without, at the next `sync`, and a power
    failure (not a killed process) before that may cost the file. `map_size`, in bytes, is how far the file
    can grow before its map has to. A table that a reader does not find is a StoreError.
    """

    def __new__(
        cls, path: Path, tables: Sequence[Table], *, writer: bool, durable: bool = True, map_size: int = ...
    ) -> Environment: ...
    def read(self) -> Reader:
        """Return a snapshot of what is committed now, by any process.

        All snapshots of one version share one of LMDB's read transactions, of which a folder has 16,384 for
        all its processes together.

        Raises:
            TooManySnapshotsError: None is left.
        """

    def write(self, change: Callable[[Writer], _T], /) -> _T:
        """Return what `change` returned, once all that it wrote is committed, or nothing of it is.

        `change` may be called again from the start when the map has to grow, so it touches only the store.
        """

    @property
    def versions(self) -> int:
        """Return how many versions of the file the open snapshots of this process see."""

    @property
    def map_size(self) -> int: ...
    def sync(self) -> None:
        """Return when all committed changes are on the disk."""

    def close(self) -> None:
        """Close the file; snapshots still open are lost with it."""

@disjoint_base
class Reader:
    """A snapshot of all tables; close it soon, since it keeps the pages it sees from being reused."""

    @property
    def version(self) -> int:
        """Return what the last change before this snapshot has made the store's version."""

    def get(self, table: Table, key: bytes, /) -> bytes | None:
        """Return the value at `key`, None when there is none."""

    def view(self, table: Table, key: bytes, /) -> bytes | memoryview | None:
        """Return the same without a copy where that can be; it is good until the snapshot is closed.

        To copy a large value costs more than to look something up in it, mostly because it is not in the
        processor's cache.
        """

    def cursor(self, table: Table, /) -> Cursor:
        """Return a cursor that stands nowhere yet."""

    def entries(self, table: Table, /) -> int:
        """Return how many entries the table has."""

    def close(self) -> None:
        """End the snapshot; a second time does nothing."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

@final
class Writer(Reader):
    """The one change of a file, seen by nobody else until it is committed; for its own thread only."""

    def put(self, table: Table, key: bytes, value: bytes, /) -> None:
        """Set the value at `key`."""

    def append(self, table: Table, key: bytes, value: bytes, /) -> None:
        """Set the value at `key`, which is greater than every key of the table, or else a StoreError."""

    def put_new(self, table: Table, entries: Iterable[tuple[bytes, bytes]], /) -> int:
        """Set the values of those keys that have none yet; return how many these were."""

    def delete(self, table: Table, key: bytes, /) -> bool:
        """Remove the entry at `key`; false when there was none."""

    def pop(self, table: Table, key: bytes, /) -> bytes | None:
        """Remove and return the value at `key`, None when there was none."""

@final
class Cursor:
    def set_range(self, key: bytes, /) -> bool: ...
    def next(self) -> bool: ...
    def prev(self) -> bool: ...
    def last(self) -> bool: ...
    def key(self) -> bytes: ...
    def value(self) -> bytes: ...
    def item(self) -> tuple[bytes, bytes]: ...

@final
class ChainSpec:
    def __new__(cls, genesis: bytes) -> ChainSpec: ...
    @property
    def chain_id(self) -> int: ...
    def set_chain_ids(self, changes: list[tuple[int, int]]) -> None: ...
    @property
    def genesis_hash(self) -> bytes: ...
    def genesis_block(self) -> VerifiedBlock: ...
    def fork_name(self, number: int, timestamp: int) -> str: ...
    def blob_parameters(self, timestamp: int) -> tuple[int, int, int] | None: ...

@final
class UnverifiedBlock:
    @property
    def number(self) -> int: ...
    @property
    def hash(self) -> bytes: ...
    @property
    def parent_hash(self) -> bytes: ...
    @property
    def difficulty(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def gas_used(self) -> int: ...
    @property
    def transaction_count(self) -> int: ...
    @property
    def header(self) -> bytes: ...
    @property
    def body(self) -> bytes: ...

@disjoint_base
class VerifiedBlock:
    @property
    def number(self) -> int: ...
    @property
    def hash(self) -> bytes: ...
    @property
    def parent_hash(self) -> bytes: ...
    @property
    def difficulty(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def gas_used(self) -> int: ...
    @property
    def transaction_count(self) -> int: ...
    @property
    def log_count(self) -> int: ...
    @property
    def header(self) -> bytes: ...
    @property
    def body(self) -> bytes: ...
    @property
    def receipts(self) -> bytes: ...
    @property
    def transaction_hashes(self) -> bytes: ...

@final
class BuiltBlock(VerifiedBlock):
    @property
    def requests(self) -> list[bytes]: ...

def decode_blocks(
    spec: ChainSpec, encoded: Sequence[bytes]
) -> tuple[list[UnverifiedBlock], InvalidBlockError | None]: ...
def block_from_rows(spec: ChainSpec, header: bytes, body: bytes) -> UnverifiedBlock: ...

@final
class Execution:
    @property
    def verified(self) -> list[VerifiedBlock]: ...
    @property
    def error(self) -> InvalidBlockError | None: ...

@final
class CancelFlag:
    def __new__(cls) -> CancelFlag: ...
    def set(self) -> None: ...
    @property
    def is_set(self) -> bool: ...

@final
class Message:
    def __new__(
        cls,
        *,
        sender: bytes,
        to: bytes | None = None,
        gas: int | None = None,
        gas_price: int | None = None,
        max_fee: int | None = None,
        max_priority_fee: int | None = None,
        max_blob_fee: int | None = None,
        value: int | None = None,
        input: bytes | None = None,
        nonce: int | None = None,
        access_list: bytes | None = None,
        blob_hashes: Sequence[bytes] | None = None,
        authorizations: bytes | None = None,
    ) -> Message: ...

def read_balance(state: State, number: int, block_hash: bytes, params: bytes, /) -> bytes | int | None: ...
def read_transaction_count(
    state: State, number: int, block_hash: bytes, params: bytes, /
) -> bytes | int | None: ...
def read_code(state: State, number: int, block_hash: bytes, params: bytes, /) -> bytes | int | None: ...
def read_storage(state: State, number: int, block_hash: bytes, params: bytes, /) -> bytes | int | None: ...
def read_log_filter(
    params: bytes, most: int, /
) -> tuple[int | None, int | None, list[bytes], list[list[bytes]]] | None: ...
def run_plain_call(
    state: State, number: int, header: bytes, params: bytes, gas_blocks: int, budget: int, /
) -> bytes | int | Revert | Halt | Interrupted | None: ...
def estimate_plain_call(
    state: State, number: int, header: bytes, params: bytes, gas_blocks: int, budget: int, /
) -> bytes | int | Revert | Halt | Interrupted | None: ...

@final
class Simulation:
    def __new__(
        cls,
        blocks: Sequence[tuple[bytes | None, bytes | None, Sequence[Message | str]]],
        *,
        gas_cap: int,
        validation: bool,
        trace_transfers: bool,
        full_transactions: bool,
    ) -> Simulation: ...

@final
class BlockAttributes:
    def __new__(
        cls,
        *,
        timestamp: int,
        fee_recipient: bytes,
        prev_randao: bytes,
        gas_limit: int,
        parent_beacon_block_root: bytes,
        base_fee: int | None = None,
        extra_data: bytes | None = None,
        withdrawals: Sequence[tuple[int, int, bytes, int]] | None = None,
    ) -> BlockAttributes: ...

@final
class Success:
    @property
    def output(self) -> bytes: ...
    @property
    def gas_used(self) -> int: ...
    @property
    def gas_refunded(self) -> int: ...

@final
class Revert:
    @property
    def output(self) -> bytes: ...
    @property
    def gas_used(self) -> int: ...

@final
class Halt:
    @property
    def reason(self) -> str: ...
    @property
    def gas_used(self) -> int: ...

@final
class Interrupted:
    @property
    def cancelled(self) -> bool: ...

@final
class State:
    def __new__(cls, path: str, spec: ChainSpec, *, writer: bool) -> State: ...
    @property
    def head(self) -> tuple[int, bytes]: ...
    @property
    def committed_head(self) -> tuple[int, bytes]: ...
    def execute(
        self,
        blocks: Sequence[UnverifiedBlock],
        ancestors: Sequence[tuple[bytes, bytes]],
        *,
        total_difficulty: int,
        attributes: BlockAttributes | None = None,
    ) -> Execution: ...
    def verify_header(
        self,
        block: UnverifiedBlock,
        ancestors: Sequence[tuple[bytes, bytes]],
        *,
        total_difficulty: int,
    ) -> InvalidBlockError | None: ...
    def commit(self, *, sync: bool) -> None: ...
    def sync_now(self) -> None: ...
    @property
    def state_root(self) -> bytes: ...
    def unwind(self, number: int, *, state_root: bytes | None = None) -> bytes: ...
    def patch(self, changes: bytes, *, sync: bool = True) -> bytes: ...
    def account(
        self, address: bytes, block: tuple[int, bytes] | BuiltBlock
    ) -> tuple[int, int, bytes] | None: ...
    def code(self, address: bytes, block: tuple[int, bytes] | BuiltBlock) -> bytes: ...
    def find_code(self, code_hash: bytes) -> bytes | None: ...
    def storage(self, address: bytes, slot: bytes, block: tuple[int, bytes] | BuiltBlock) -> bytes: ...
    def changes_of(
        self,
        address: bytes,
        block: tuple[int, bytes] | BuiltBlock,
        start: int,
        *,
        is_forward: bool,
        limit: int,
    ) -> list[int]: ...
    def addresses(self, number: int, block_hash: bytes) -> list[bytes]: ...
    def slots(self, address: bytes, number: int, block_hash: bytes) -> list[tuple[bytes, bytes]]: ...
    def proof(
        self,
        address: bytes,
        slots: Sequence[bytes],
        block: tuple[int, bytes] | BuiltBlock,
        *,
        changes: int = ...,
        cancel: CancelFlag | None = None,
    ) -> tuple[list[bytes], list[tuple[bytes, list[bytes]]], bytes]: ...
    def call(
        self,
        header: bytes | BuiltBlock,
        message: Message,
        *,
        gas_cap: int,
        budget: int | None = None,
        cancel: CancelFlag | None = None,
        state_overrides: bytes | None = None,
        block_overrides: bytes | None = None,
    ) -> Success | Revert | Halt | Interrupted: ...
    def estimate_gas(
        self,
        header: bytes | BuiltBlock,
        message: Message,
        *,
        gas_cap: int,
        budget: int | None = None,
        cancel: CancelFlag | None = None,
        state_overrides: bytes | None = None,
        block_overrides: bytes | None = None,
    ) -> int | Revert | Halt | Interrupted: ...
    def simulate(
        self,
        header: bytes | BuiltBlock,
        simulation: Simulation,
        *,
        changes: int = ...,
        cancel: CancelFlag | None = None,
    ) -> bytes: ...
    def build_block(
        self,
        parent: tuple[bytes, bytes],
        attributes: BlockAttributes,
        transactions: Sequence[bytes],
        *,
        senders: Sequence[bytes | None] | None = None,
    ) -> tuple[BuiltBlock, list[tuple[int, str]]]: ...

def create_access_list(
    state: State,
    header: bytes | BuiltBlock,
    message: Message,
    *,
    gas_cap: int,
    nonce: int | None = None,
    cancel: CancelFlag | None = None,
    state_overrides: bytes | None = None,
) -> tuple[bytes, int, str | None] | Interrupted: ...
def trace_block(
    state: State,
    rows: tuple[bytes, bytes],
    options: bytes,
    *,
    index: int | None,
    seconds: float,
    size: int,
    cancel: CancelFlag,
) -> bytes | str: ...
def execution_witness(
    state: State, rows: tuple[bytes, bytes], *, changes: int, found: int, cancel: CancelFlag
) -> tuple[bytes, bytes, bytes, int]: ...
def storage_range(
    state: State,
    rows: tuple[bytes, bytes],
    *,
    transactions: int,
    address: bytes,
    start: bytes,
    count: int,
    cancel: CancelFlag,
) -> bytes: ...
def modified_accounts(
    state: State,
    first: tuple[int, bytes],
    last: tuple[int, bytes],
    *,
    changes: int,
    cancel: CancelFlag,
) -> list[bytes]: ...
def trace_call(
    state: State,
    rows: tuple[bytes, bytes],
    message: Message,
    options: bytes,
    *,
    gas_cap: int,
    seconds: float,
    size: int,
    cancel: CancelFlag,
    transactions: int | None = None,
    state_overrides: bytes | None = None,
    block_overrides: bytes | None = None,
) -> bytes | str: ...
def parity_transaction(
    state: State,
    rows: tuple[bytes, bytes],
    form: bytes,
    *,
    index: int,
    seconds: float,
    size: int,
    cancel: CancelFlag,
) -> bytes | str: ...
def parity_block(
    state: State,
    rows: tuple[bytes, bytes],
    types: bytes,
    *,
    seconds: float,
    size: int,
    cancel: CancelFlag,
) -> bytes | str: ...
def parity_filter(
    state: State,
    rows: tuple[bytes, bytes],
    filter: bytes,
    *,
    skip: int,
    count: int,
    seconds: float,
    size: int,
    cancel: CancelFlag,
) -> tuple[bytes, int] | str: ...
def parity_touching(
    state: State,
    rows: tuple[bytes, bytes],
    account: bytes,
    *,
    seconds: float,
    size: int,
    cancel: CancelFlag,
) -> list[int] | str: ...
def parity_creator(
    state: State,
    rows: tuple[bytes, bytes],
    account: bytes,
    *,
    seconds: float,
    size: int,
    cancel: CancelFlag,
) -> tuple[bytes, bytes] | str | None: ...
def parity_calls(
    state: State,
    header: bytes | BuiltBlock,
    calls: list[tuple[Message, bytes]],
    *,
    gas_cap: int,
    seconds: float,
    size: int,
    cancel: CancelFlag,
    state_overrides: bytes | None = None,
    block_overrides: bytes | None = None,
) -> list[bytes] | str: ...
def parity_raw(
    state: State,
    header: bytes | BuiltBlock,
    encoded: bytes,
    types: bytes,
    *,
    seconds: float,
    size: int,
    cancel: CancelFlag,
) -> bytes | str: ...
def block_rewards(spec: ChainSpec, rows: tuple[bytes, bytes]) -> list[int]: ...
def revert_reason(output: bytes) -> str | None: ...
def sign_transaction(
    secret: bytes,
    *,
    chain_id: int,
    nonce: int,
    to: bytes | None,
    value: int,
    input: bytes,
    gas: int,
    max_fee: int | None = None,
    max_priority_fee: int | None = None,
    gas_price: int | None = None,
    access_list: bytes | None = None,
    authorizations: bytes | None = None,
) -> bytes: ...
def unsigned_transaction(
    sender: bytes,
    *,
    chain_id: int,
    nonce: int,
    to: bytes | None,
    value: int,
    input: bytes,
    gas: int,
    max_fee: int | None = None,
    max_priority_fee: int | None = None,
    gas_price: int | None = None,
    access_list: bytes | None = None,
    authorizations: bytes | None = None,
) -> bytes: ...
def sign_message(secret: bytes, message: bytes) -> bytes: ...
def sign_digest(secret: bytes, digest: bytes) -> bytes: ...

@final
class PooledTransaction:
    def __new__(cls, spec: ChainSpec, encoded: bytes) -> PooledTransaction: ...
    @staticmethod
    def impersonated(spec: ChainSpec, encoded: bytes) -> PooledTransaction: ...
    @property
    def hash(self) -> bytes: ...
    @property
    def sender(self) -> bytes: ...
    @property
    def is_impersonated(self) -> bool: ...
    @property
    def nonce(self) -> int: ...
    @property
    def to(self) -> bytes | None: ...
    @property
    def value(self) -> int: ...
    @property
    def gas(self) -> int: ...
    @property
    def max_fee(self) -> int: ...
    @property
    def max_priority_fee(self) -> int: ...
    @property
    def max_blob_fee(self) -> int | None: ...
    @property
    def blob_hashes(self) -> list[bytes]: ...
    @property
    def type(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def encoded(self) -> bytes: ...
    @property
    def input(self) -> bytes: ...
    @property
    def authorities(self) -> list[bytes]: ...
    @property
    def chain_id(self) -> int | None: ...
    @property
    def is_replay_protected(self) -> bool: ...

def check_transaction(
    spec: ChainSpec,
    header: bytes,
    transaction: PooledTransaction,
    *,
    minimum_tip: int = 0,
    was_included: bool = False,
) -> None: ...
def render_pooled_transaction(transaction: PooledTransaction) -> bytes: ...
def address_of(secret: bytes) -> bytes: ...
def keccak256(content: bytes) -> bytes: ...

@final
class Header:
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

def header_fields(header: bytes) -> Header: ...
def block_rlp(header: bytes, body: bytes | memoryview) -> bytes: ...
def transaction_count(body: bytes | memoryview) -> int: ...
def transaction_hashes(body: bytes | memoryview) -> bytes: ...
def transaction_places(number: int, hashes: bytes, /) -> list[tuple[bytes, bytes]]: ...
def find_transaction(reader: Reader, hash: bytes, /) -> tuple[int, int] | None: ...
def stored_transaction(reader: Reader, hash: bytes, /) -> bytes | None: ...
def locate_logs(
    reader: Reader, base: int, positions: Sequence[int], start: int, most: int, /
) -> tuple[list[tuple[int, Sequence[int]]], int]: ...
def stored_logs(reader: Reader, blocks: Sequence[tuple[int, Sequence[int] | None]], /) -> bytes: ...
def stored_receipt(reader: Reader, hash: bytes, /) -> bytes | None: ...
def read_transaction(reader: Reader, params: bytes, /) -> bytes | None: ...
def read_receipt(reader: Reader, params: bytes, /) -> bytes | None: ...
def ommer_hashes(body: bytes | memoryview) -> bytes: ...
def render_block(
    header: bytes,
    body: bytes | memoryview,
    *,
    full: bool,
    pending: bool = False,
    with_total_difficulty: bool = False,
    total_difficulty: int | None = None,
) -> bytes: ...
def render_uncle(
    body: bytes | memoryview, index: int, *, with_total_difficulty: bool = False
) -> bytes | None: ...
def render_transaction(
    header: bytes, body: bytes | memoryview, index: int, *, pending: bool = False
) -> bytes | None: ...
def render_receipts(header: bytes, body: bytes | memoryview, receipts: bytes | memoryview) -> bytes: ...
def render_header(header: bytes) -> bytes: ...
def render_each_log(
    header: bytes,
    body: bytes | memoryview,
    receipts: bytes | memoryview,
    indices: Sequence[int],
    *,
    removed: bool = False,
) -> list[bytes]: ...
def log_values(receipts: bytes | memoryview) -> list[tuple[bytes, tuple[bytes, ...]]]: ...
def log_count(receipts: bytes | memoryview) -> int: ...
def log_entries(receipts: Sequence[bytes], first: int) -> list[tuple[bytes, bytes]]: ...
def take_messages(data: bytes, position: int, limit: int, messages: list[bytes], /) -> int: ...
def read_request(text: bytes, /) -> tuple[str, bytes, bytes] | None: ...
def read_batch(text: bytes, most: int, /) -> list[tuple[str, bytes, bytes]] | None: ...
def first_items(text: bytes, most: int, /) -> list[bytes]: ...
def find_identity(text: bytes, /) -> bytes | None: ...
def count_values(text: bytes, /) -> int: ...
def replace_lone_surrogates(text: bytes, /) -> bytes | None: ...
def answer_calls(
    calls: Sequence[bytes] | Sequence[tuple[str, bytes, bytes] | bytes],
    start: int,
    results: dict[str, bytes],
    methods: EngineMethods,
    moment: Moment | None,
    largest: int,
    room: int,
    /,
    *,
    are_messages: bool,
) -> tuple[bytes, dict[str, int]]: ...

@final
class EngineMethods:
    """Methods that the engine may answer by itself, by their names; a ValueError for any that it cannot."""

    def __new__(cls, names: Sequence[str], /) -> EngineMethods: ...

@final
class Moment:
    """A snapshot of a chain and the state after its head; good as long as the snapshot."""

    def __new__(cls, state: State, reader: Reader, number: int, block_hash: bytes, /) -> Moment: ...

@final
class StarknetTries:
    """The tries of a whole Starknet state in memory. Field elements come packed, 32 bytes each."""

    def __new__(cls) -> StarknetTries: ...
    def apply(self, storage: bytes, class_hashes: bytes, nonces: bytes, compiled_classes: bytes) -> None: ...
    def root(self, always_joined: bool) -> bytes: ...

def starknet_diff_commitment(
    storage: bytes, class_hashes: bytes, nonces: bytes, compiled_classes: bytes, deprecated_classes: bytes
) -> bytes: ...
def sierra_class_hash(
    version: str, external: bytes, l1_handler: bytes, constructor: bytes, abi: str, program: bytes
) -> bytes: ...
def cairo0_class_hash(
    external: bytes,
    l1_handler: bytes,
    constructor: bytes,
    builtins: list[str],
    hinted: bytes,
    bytecode: bytes,
) -> bytes: ...
