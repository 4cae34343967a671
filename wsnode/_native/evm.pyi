"""Ethereum's chains: rules, blocks verified and built, messages run and traced, transactions signed.

A committed block is named by its number and hash, or by its header row (or header and body row). A built
block that is not committed is named by its `BuiltBlock`. Every function with a `State` may raise these
errors, and docstrings name only others: ReorganisedError if a committed block has left the chain and its
state is read, StateError if LMDB fails or the state is damaged, and `chain.CorruptRowError` if a row cannot
be read.

State overrides and block overrides are JSON objects as `eth_call` takes them. Options of traces are JSON too.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import final

from typing_extensions import disjoint_base

from wsnode._native.chain import Header
from wsnode._native.store import Environment, Writer

GAS_PER_BLOB: int
"""Blob gas of one blob."""

class EngineError(Exception):
    """The engine could not carry out a call; raised itself for bugs and wrong uses alone."""

class InvalidGenesisError(EngineError):
    """A genesis.json describes no chain known here."""

class InvalidBlockError(EngineError):
    """A block breaks a rule of its chain.

    `number` and `block_hash` are None if not even the block's header could be read. `rule` is a stable name
    such as "gas_used" or "state_root"; `expected` and `actual` are texts for people.
    """

    number: int | None
    block_hash: bytes | None
    rule: str
    expected: str
    actual: str

class InvalidTransactionError(EngineError):
    """A message or a transaction is refused before it runs; the text is in geth's words.

    `kind` is a stable name of the reason, such as "insufficient_funds", "intrinsic_gas" or "overrides".
    """

    kind: str

class StateError(EngineError):
    """The state cannot be read or written."""

class DamagedStateError(StateError):
    """A row of the state does not have its checksum, or is behind a damaged page.

    `table` is the table's name; `key` is empty where a walk met a damaged page.
    """

    table: str
    key: bytes

class HistoryError(StateError):
    """No state of block `requested` is stored, only of `earliest` to `latest`."""

    requested: int
    earliest: int
    latest: int

class ReorganisedError(StateError):
    """Block `number` has the hash `found`, not `wanted`; `found` is None beyond the head."""

    number: int
    wanted: bytes
    found: bytes | None

class BoundError(StateError):
    """A bound is exceeded: too many changes since the block, or too many results."""

class MissingStateError(EngineError):
    """Values of the state are not known yet. The call can be repeated once they are kept."""

    accounts: Sequence[bytes]
    slots: Sequence[tuple[bytes, bytes]]
    """Addresses with the 32 bytes of a slot."""
    numbers: Sequence[int]
    """Blocks whose hashes are unknown."""
    block: tuple[int, bytes] | None
    """Number and hash of the block whose state lacks the values, if states are known by proofs.

    With nothing else in the error, its state root is unknown.
    """

class UnprovedError(EngineError):
    """The result does not follow from proofs: lists of values, or state roots of later blocks."""

class NotExecutedError(EngineError):
    """A run came to an account, a program or a block hash that only ArbOS can execute."""

    address: bytes
    kind: str
    """`precompile`, `stylus` or `blockhash`."""

class WrongProofError(EngineError):
    """A proof does not prove the values that came with it."""

class StoppedError(StateError):
    """The `CancelFlag` of a call was set."""

@final
class ChainSpec:
    """Rules of one chain, from the text of geth's genesis.json.

    Raises:
        InvalidGenesisError: It describes no chain known here.
    """

    def __new__(cls, genesis: bytes) -> ChainSpec: ...
    @property
    def chain_id(self) -> int:
        """Return the chain id of the next block."""

    def chain_id_at(self, number: int) -> int: ...
    def unscheduled_fork(self, block: UnverifiedBlock) -> tuple[str, str] | None:
        """Return genesis key and name of a fork whose header members a block has too early, or None."""

    def set_chain_ids(self, changes: list[tuple[int, int]]) -> None:
        """Set the chain ids after the genesis's: pairs of first block and id, ascending."""

    @property
    def genesis_hash(self) -> bytes: ...
    @property
    def has_genesis_header(self) -> bool:
        """Return whether the genesis header is known. Otherwise the hash may be unknown too, and zero."""

    @property
    def family(self) -> str:
        """Return the family whose encodings transactions and receipts have.

        It is `ethereum`, `polygon`, `op-stack` or `arbitrum`.
        """

    @property
    def has_arbos(self) -> bool:
        """Return whether ArbOS executes some accounts of the state. The engine cannot."""

    @property
    def is_sealed_by_authority(self) -> bool:
        """Return whether authorities seal the blocks, with any difficulty."""

    @property
    def is_allotted(self) -> bool:
        """Return whether the accounts of the genesis state are known, and not only their root."""

    @property
    def terminal_total_difficulty(self) -> int | None:
        """Return the total difficulty at which proof of stake begins, or None if it never does."""

    @property
    def first_number(self) -> int:
        """Return the first block's number. It is not 0 if the block comes from another chain."""

    @property
    def begins_elsewhere(self) -> bool:
        """Return whether the state after the first block is known by proofs alone."""

    def genesis_block(self) -> VerifiedBlock: ...
    def fork_name(self, number: int, timestamp: int) -> str:
        """Return the name of the newest fork that is active at a block."""

    def engine_generation(self, timestamp: int) -> int:
        """Return the generation of the Engine API's structures for a block after the merge; 1 is Paris."""

    def scheduled_forks(self) -> list[tuple[ForkRow, int]]:
        """Return the forks that the chain schedules, oldest first, each with its block number or time.

        A time is in seconds since 1970.
        """

    def blob_parameters(self, timestamp: int) -> tuple[int, int, int] | None:
        """Return target and maximum in blobs, and the fee update fraction, or None before blobs."""

    def blob_gas_limit(self, timestamp: int) -> int:
        """Return the highest blob gas of a block at `timestamp`, 0 before blobs."""

    def next_base_fee(self, parent: Header, /) -> int | None:
        """Return the base fee of the block after `parent` in wei per gas, or None before London."""

    def next_blob_base_fee(self, parent: Header, /) -> int | None:
        """Return the price of blob gas after `parent`, in wei per blob gas, or None before blobs.

        It is computed by the parent's blob parameters, because the next block's time is unknown. Parameters
        of a fork that begins with that block are therefore ignored. 2**128 - 1 stands for every higher price.
        """

@final
class ForkRow:
    """Fork: its names, its activation, its contracts and precompiles, and what it adds to the header.

    `key` is its key in geth's genesis.json. `is_by_time` is True if a time activates the fork, False if a
    block number does. `is_blobs_only` is True if the fork sets blob parameters and nothing else.

    `contracts` are the contracts that the protocol uses from the fork on: names of eth_config and addresses.
    `contract_codes` are their addresses and codes, in hexadecimal. `precompiles` are those from the fork on:
    names of eth_config and the numbers of their addresses. `header_members` is the number of members in a
    header whose newest fork this is.
    """

    @property
    def key(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def is_by_time(self) -> bool: ...
    @property
    def is_blobs_only(self) -> bool: ...
    @property
    def contracts(self) -> list[tuple[str, str]]: ...
    @property
    def contract_codes(self) -> list[tuple[str, str]]: ...
    @property
    def precompiles(self) -> list[tuple[str, int]]: ...
    @property
    def header_members(self) -> int: ...

def fork_table() -> list[ForkRow]:
    """Return the rows of all forks but Frontier, oldest first."""

@final
class UnverifiedBlock:
    """Block with a valid encoding and known senders. Every other rule is unchecked.

    `header` and `body` are rows. `timestamp` is in seconds since 1970. `blob_hashes` are the versioned hashes
    of all blob transactions, in their order. `access_list_hash` is the hash of the block access list, or None
    before Amsterdam.
    """

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
    def blob_hashes(self) -> list[bytes]: ...
    @property
    def access_list_hash(self) -> bytes | None: ...
    @property
    def has_own_body(self) -> bool:
        """Return whether the header commits to this body. Otherwise the hash does not identify it."""

    @property
    def header(self) -> bytes: ...
    @property
    def body(self) -> bytes: ...

@disjoint_base
class VerifiedBlock:
    """Block that keeps every rule, with the results of its execution.

    `header`, `body` and `receipts` are rows. `timestamp` is in seconds since 1970. `access_list` is the RLP
    of the block access list, or None before Amsterdam and if it is unknown.
    """

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
    def access_list(self) -> bytes | None: ...

@final
class BuiltBlock(VerifiedBlock):
    """Executed block that is not committed, and the state after it.

    The state can be read while the last committed ancestor stays committed. Uncommitted ancestors stay in
    memory with the block.
    """

    @property
    def requests(self) -> list[bytes]:
        """Return the requests to the consensus layer, each as its type byte and its content."""

    @property
    def failed_calls(self) -> list[str]:
        """Return the error messages of failed system contracts, whose requests the block lacks."""

    def rebased(self, parent: BuiltBlock | None) -> BuiltBlock:
        """Return the block on another instance of its parent, or on the committed parent if None.

        The returned block does not keep the earlier instance in memory.
        """

    @property
    def size(self) -> int:
        """Return the approximate bytes that it takes in memory, without its uncommitted ancestors."""

def decode_blocks(
    spec: ChainSpec, encoded: Sequence[bytes], *, with_unsigned: bool = False
) -> tuple[list[UnverifiedBlock], InvalidBlockError | None]:
    """Return the blocks before the first malformed one, and its error, not raised, or None.

    Each item of `encoded` is the RLP of a block. A bad signature counts as malformed. Senders are recovered
    on all cores, 42 us each. `with_unsigned`, transactions may name the sender in place of a signature, as in
    blocks of development chains. Releases the lock.
    """

def block_from_rows(spec: ChainSpec, header: bytes, body: bytes) -> UnverifiedBlock:
    """Return a block from its stored rows, with the senders in the body row.

    Raises:
        CorruptRowError: A row cannot be read.
    """

def encode_proved_receipts(block: bytes, receipts: bytes, family: str = "ethereum") -> bytes:
    """Return the receipts row of a block from another node's JSON, checked against the block's RLP.

    `family` is the family of the block's chain.

    Raises:
        InvalidBlockError: The header does not commit to the receipts, or the JSON is not one of receipts.
        ValueError: No family has the name.
    """

def arbos_fork(block: bytes) -> str:
    """Return the fork whose EVM rules ArbOS has at a block: `prague` or `osaka`.

    `block` is another node's JSON.

    Raises:
        InvalidBlockError: It is not the JSON of a block.
    """

def read_json_header(block: bytes) -> tuple[int, bytes, bytes]:
    """Return number, hash and parent's hash of the header in another node's JSON of a block.

    Raises:
        InvalidBlockError: It is not the JSON of a block.
    """

def read_dump(text: bytes) -> list[tuple[bytes, int, str, str, bytes]]:
    """Return the accounts of a state dump in anvil's format.

    Each is an address, nonce, balance and code in hex, and the JSON text of its slots, each 32 bytes with a
    value of 32 bytes. Members other than `accounts` are skipped. Releases the lock.

    Raises:
        ValueError: The text is not the JSON of a dump.
    """

def encode_json_block(block: bytes, ommers: Sequence[bytes]) -> bytes:
    """Return the RLP of a block from another node's JSON, with whole transactions.

    `ommers` are the JSON texts of its ommers, in their order. Hashes in the JSON are ignored: the caller
    computes the hash of the result. Releases the lock.

    Raises:
        InvalidBlockError: The text is not the JSON of such a block, by the rule `json`.
    """

def encode_json_receipts(receipts: bytes) -> bytes:
    """Return the row of a block's receipts from another node's JSON. Releases the lock.

    Only their form is checked: `verify_with_receipts` compares them with the block's header.

    Raises:
        InvalidBlockError: The text is not the JSON of receipts, by the rule `json`.
    """

def verify_with_receipts(
    spec: ChainSpec, block: UnverifiedBlock, receipts: bytes, access_list: bytes | None = None
) -> BuiltBlock | InvalidBlockError:
    """Return a block after checks of its body and receipts by its header, or its error, not raised.

    `access_list`, the RLP of its block access list, is checked as well. Nothing is executed: the returned
    block has no changes, and the state after it is unknown. The header itself is not checked. Releases the
    lock.
    """

@final
class Payload:
    """Payload of the Engine API whose JSON has the right form; nothing else is checked yet.

    `timestamp` is in seconds since 1970.

    Raises:
        ValueError: A member is missing, unknown or malformed; the text says which.
    """

    def __new__(cls, text: bytes) -> Payload: ...
    @property
    def version(self) -> int:
        """Return its version: 1 of Paris, 2 with withdrawals, 3 with blob gas, 4 of Amsterdam."""

    @property
    def number(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def block_hash(self) -> bytes:
        """Return the payload's `blockHash` as sent, 32 bytes; not verified."""

    @property
    def parent_hash(self) -> bytes: ...
    def block(
        self,
        spec: ChainSpec,
        *,
        parent_beacon_block_root: bytes | None = None,
        requests: Sequence[bytes] | None = None,
    ) -> UnverifiedBlock | InvalidBlockError:
        """Return the payload's block with its senders, or the error of the rule that it breaks, not raised.

        A wrong "block_hash" is reported before any other rule. Each request is a type's byte and the content;
        requests count for the hash if they are given. Releases the lock.
        """

@final
class Execution:
    """Outcome of an execution of blocks."""

    @property
    def verified(self) -> list[VerifiedBlock]:
        """Return the blocks before the first invalid one."""

    @property
    def error(self) -> InvalidBlockError | None:
        """Return the error of the first invalid block, not raised, or None."""

@final
class CancelFlag:
    """Flag by which any thread ends the run that received it. It serves one run."""

    def __new__(cls) -> CancelFlag: ...
    def set(self) -> None:
        """End the run at its next check, at a jump or a call."""

    @property
    def is_set(self) -> bool:
        """Return whether it was set. Tracing functions set it themselves at their limits."""

@final
class Message:
    """Message to run, as in `eth_call`. Absent members have geth's defaults.

    `to` of None creates a contract; `value`, prices and fees are wei; `access_list` and `authorizations` are
    JSON.

    Raises:
        ValueError: One of these texts, or the length of an address or a hash, is wrong.
    """

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

@final
class LiveBytes:
    """Bytes of the live calls of all chains that share a bound."""

    def __new__(cls) -> LiveBytes: ...

@final
class LiveCalls:
    """Live calls of a chain: their outcomes, and the values on which they depend.

    Lists of calls have numbers. A call has an outcome after the block of the last step, or it is due. Texts
    are entries of notifications, joined by commas; digests have 8 bytes for each call of a list.
    """

    def __new__(
        cls, *, gas: int, gas_blocks: int, reads: int, bytes: int, all_bytes: LiveBytes
    ) -> LiveCalls: ...
    def admits(self, messages: list[Message]) -> bool:
        """Return whether there is room for the calls of a subscription."""

    def add(self, messages: list[Message], client: int) -> int:
        """Add the calls of a client's subscription, and return the number of their list."""

    def remove(self, list: int) -> None:
        """Remove a list, and the calls that no other list has."""

    def require_proved(self, state: State, header: bytes, most: int) -> None:
        """Return if all values of the state that the calls read last are known after a block.

        It is for chains whose states other nodes prove. Releases the lock.

        Raises:
            MissingStateError: Values are unknown; it names about `most` of them, and others the next time.
        """

    def step(
        self,
        state: State,
        header: bytes,
        *,
        since: tuple[int, bytes] | None,
        step: int | None,
        changes: int,
    ) -> None:
        """Go on to the state after a block.

        The state of step `step` was that after block `since`. The changes since are in the state's lists, if
        these have at most `changes` bytes, or follow from proved values of both blocks. Otherwise, or without
        `since`, everything may have changed. Without `step` alone, the state after `since` counts as the last
        step's. The steps after `step` cannot be named any more. Releases the lock.

        Raises:
            StateError: The block is not on the chain any more.
        """

    def run(
        self, state: State, header: bytes, *, slice_seconds: float, call_seconds: float, cancel: CancelFlag
    ) -> None:
        """Run due calls on the state of the last step, for some seconds. Releases the lock.

        Raises:
            MissingStateError: Calls lack values of the state; they wait for `retry_lacking` or
                `fail_lacking`.
        """

    def pin_late(self) -> bool:
        """Pin the lists that are too late to the last step's state, and return whether there are any."""

    def unpin(self) -> None:
        """Unpin all lists, so that they end at the last step's state."""

    def run_late(
        self, state: State, header: bytes, *, slice_seconds: float, call_seconds: float, cancel: CancelFlag
    ) -> bool:
        """Run calls of pinned lists for some seconds, and return True once there is none. Releases the lock.

        `state` and `header` are those of the step that the lists were pinned to.

        Raises:
            MissingStateError: A call lacks values of the state; it runs again with the next call.
        """

    def take_late_ready(self) -> list[tuple[int, int | None, tuple[bytes, bytes] | None]]:
        """Return the pinned lists whose calls have all ended, in the form of `take_ready`."""

    def digests(
        self,
        state: State,
        header: bytes,
        list: int,
        start: int,
        *,
        slice_seconds: float,
        call_seconds: float,
        cancel: CancelFlag,
    ) -> bytes:
        """Return digests of a list's outcomes after a block, from the call `start` on.

        There are as many as there was time for.

        Raises:
            MissingStateError: The calls lack values of the state.
            StateError: The state after the block is not kept.
        """

    def retry_lacking(self) -> None:
        """Make the calls run again that lacked values of the state."""

    def fail_lacking(self, code: int, message: str) -> None:
        """End the calls that lack values of the state with an error."""

    def take_ready(self) -> list[tuple[int, int | None, tuple[bytes, bytes] | None]]:
        """Return the lists that have become complete and differ from the entries returned before.

        Each has the last step after which it was complete, and a pair: the changed entries, and the digests
        of the entries returned before. The pair is None if none were returned before.
        """

    def is_complete(self, list: int) -> bool:
        """Return whether all calls of a list have their outcome, if only after the step of its pin."""

    def complete_since(self, list: int) -> int | None:
        """Return the last step after which a list was complete, or None before the first one."""

    def told(self, list: int) -> bytes:
        """Return the digests of the entries that `take_ready` returned last for a list."""

    def changes(self, list: int, digests: bytes) -> bytes:
        """Return the entries of a list whose outcomes have other digests than these."""

    @property
    def steps(self) -> int: ...
    @property
    def has_due(self) -> bool:
        """Return whether a call waits for its run and lacks no values."""

    @property
    def is_too_late(self) -> bool:
        """Return whether a list has waited for as many blocks as it may."""

    @property
    def bytes(self) -> int:
        """Return the bytes of all calls, their outcomes, and the values on which they depend."""

    @property
    def runs(self) -> int: ...
    @property
    def late_blocks(self) -> int:
        """Return the number of blocks by which lists were late so far."""

    @property
    def each_block(self) -> int:
        """Return the number of calls that run after each block."""

@final
class Simulation:
    """Blocks of calls for `State.simulate`: each with its block overrides, state overrides and calls.

    A text in the place of a call is the reason why its arguments contradict each other; it is raised when the
    call's turn comes. `gas_cap` bounds the gas of all calls together. With `validation`, nonces and fees are
    checked as in real blocks.

    Raises:
        InvalidTransactionError: The overrides are wrong; of kind "overrides".
    """

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
    """Attributes of a new block that its maker chooses.

    `base_fee`, in wei per gas, replaces the one computed from the parent. `withdrawals` are tuples of index,
    validator index, address and amount in gwei. `slot_number` counts from Amsterdam on, and is by default one
    more than the parent's. If a system contract fails, the block is not built. With `may_lack_requests` it is
    built without that contract's requests, and is invalid for every other node.
    """

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
        slot_number: int | None = None,
        may_lack_requests: bool = False,
    ) -> BlockAttributes: ...

@final
class Success:
    """Outcome of a run that succeeded. `gas_used` is less refunds."""

    @property
    def output(self) -> bytes: ...
    @property
    def gas_used(self) -> int: ...

@final
class Revert:
    """Outcome of a run that the contract reverted; the output may give the reason."""

    @property
    def output(self) -> bytes: ...
    @property
    def gas_used(self) -> int: ...

@final
class Halt:
    """Outcome of a run that broke a rule of the EVM; `reason` is the rule in geth's words."""

    @property
    def reason(self) -> str: ...
    @property
    def gas_used(self) -> int: ...

@final
class Interrupted:
    """Outcome of a run that was ended early."""

    @property
    def cancelled(self) -> bool:
        """Return whether its `CancelFlag` was set; if not, the run exceeded its budget."""

@final
class StateChange:
    """Change of a state that waits to be written."""

    def write(self, writer: Writer, /) -> None:
        """Write the change; it may be written again if the transaction is begun again. Releases the lock.

        Raises:
            StateError, StoreError: The store cannot be read or written.
        """

@final
class State:
    """EVM state of one chain after every block, in tables of the chain's store.

    A process that forks opens it afterwards. One process writes, any number read beside it. Any thread may
    call any method. Blocks are executed, accepted and unwound in memory. `stage` returns these changes, to be
    written in a transaction of the store beside the chain's other rows, and `settle` notes that it was
    committed; until then `discard` drops them. The methods that change the state wait for each other without
    the interpreter's lock, and belong in a worker thread; in a reader they raise EngineError. Reads never
    wait for them, and see committed blocks only.

    Values that are known by proofs are in the folder `proved`. With `is_proved` nothing is executed, and the
    state after any block consists of its proved values. A read of an unknown value raises MissingStateError,
    and UnprovedError if no proof can give the result. Opening releases the lock.

    Raises:
        StateError: The store holds the state of another chain, none yet for a reader, or cannot be read.
        StoreError: The store has no tables for a state.
    """

    def __new__(
        cls, environment: Environment, proved: Path, spec: ChainSpec, *, writer: bool, is_proved: bool = False
    ) -> State: ...
    def pin(self) -> State:
        """Return the same state with its reads, which must not overlap, fixed to the last commit."""

    @property
    def head(self) -> tuple[int, bytes]:
        """Return number and hash of the head, uncommitted blocks included; in a reader the committed head."""

    @property
    def committed_head(self) -> tuple[int, bytes]:
        """Return number and hash of the head on the disk, whichever process wrote it."""

    def execute(
        self,
        blocks: Sequence[UnverifiedBlock],
        ancestors: Sequence[tuple[bytes, bytes]],
        *,
        total_difficulty: int,
        attributes: BlockAttributes | None = None,
    ) -> Execution:
        """Return the blocks that keep every rule, each on top of the one before, and the first violation.

        The first block follows the head. They are executed in memory until they are staged. `ancestors` are
        header and body row of the head and of up to six blocks before it, the nearest first;
        `total_difficulty` is the head's. With `attributes`, the first block has the gas limit and base fee
        that its maker chose.
        Releases the lock.
        """

    def verify_header(
        self,
        block: UnverifiedBlock,
        ancestors: Sequence[tuple[bytes, bytes]],
        *,
        total_difficulty: int,
        attributes: BlockAttributes | None = None,
    ) -> InvalidBlockError | None:
        """Return the first rule without execution that a block breaks after its `ancestors`, or None.

        `ancestors` are its parent and the blocks before it, the nearest first; `total_difficulty` is the
        parent's. With `attributes`, the block has the gas limit and base fee that its maker chose.
        """

    def try_block(
        self,
        block: UnverifiedBlock,
        parent: tuple[int, bytes] | BuiltBlock,
        ancestors: Sequence[tuple[bytes, bytes]],
        *,
        total_difficulty: int,
        changes: int = ...,
    ) -> BuiltBlock | InvalidBlockError:
        """Return a block executed after its parent, or its error, not raised. Nothing is kept.

        Every rule is checked, as by `execute`. The parent may be any committed or built block. `ancestors`
        are the rows of the parent and of up to six blocks before it, the nearest first; `total_difficulty` is
        the parent's. `changes` bounds the bytes of change lists between the head and the last committed
        ancestor. Releases the lock.

        Raises:
            BoundError: The lists are longer.
        """

    def accept(self, block: BuiltBlock) -> None:
        """Put a built block on top of the head, its parent, in memory until it is staged.

        It is not executed again. Releases the lock.

        Raises:
            EngineError: The head is not its parent, or, by a bug, the state root differs from the one before.
        """

    def stage_genesis(self) -> StateChange | None:
        """Return the change that begins a chain with the genesis state, or None if it has begun.

        Releases the lock.
        """

    def stage(self) -> StateChange | None:
        """Return the change that writes what was executed, accepted or rewound, or None if there is none.

        Blocks can be put on top meanwhile, but nothing else is staged until this change is settled or
        discarded. Releases the lock.

        Raises:
            StateError: An earlier change is neither settled nor discarded, or the state cannot be read.
        """

    def settle(self, change: StateChange, /) -> None:
        """Take note that a change was committed. Releases the lock."""

    def discard(self) -> None:
        """Drop all that was not committed. Releases the lock."""

    @property
    def state_root(self) -> bytes:
        """Return the state root after the head on the disk, patches included."""

    def stage_pruning(self, most: int, /) -> StateChange | None:
        """Return the change that deletes states before the chain's first block, or None if there are none.

        It looks at `most` values at most, each an account or a slot. Releases the lock.
        """

    def rewind(self, number: int, *, state_root: bytes | None = None) -> None:
        """Drop all that was not committed, and go back to block `number`, in memory until that is staged.

        With `state_root`, patches of that block are undone until its state has this root again. After an
        error the head is the committed one. Releases the lock.

        Raises:
            HistoryError: There is no such block up to the head.
            StateError: Its state never had that root.
        """

    def stage_patch(self, accounts: bytes, /) -> tuple[StateChange, bytes]:
        """Return the change of the state after the head by state overrides, and the new state root.

        Releases the lock.

        Raises:
            InvalidTransactionError: The overrides are wrong, or move a precompiled contract.
            StateError: Executed blocks are not committed yet.
        """

    def keep_proofs(
        self,
        proofs: Sequence[
            tuple[bytes, Sequence[bytes], Sequence[tuple[bytes, Sequence[bytes]]], bytes | None]
        ],
    ) -> None:
        """Verify another node's proofs for the state after the first block, and keep the values.

        Each account has its address, the nodes of its proof, slots with the nodes of their proofs, and its
        code, or None if the code is known.

        Raises:
            WrongProofError: One of them is wrong; nothing is kept.
            StateError: They cannot be written.
        """

    def keep_hashes(self, hashes: Sequence[tuple[int, bytes]]) -> None:
        """Keep verified hashes of blocks before the first one.

        Raises:
            StateError: They cannot be written.
        """

    def note_root(self, number: int, block_hash: bytes, state_root: bytes) -> None:
        """Keep the verified state root of a block. States known by proofs are read by it."""

    def keep_proofs_of(
        self,
        state_root: bytes,
        proofs: Sequence[
            tuple[bytes, Sequence[bytes], Sequence[tuple[bytes, Sequence[bytes]]], bytes | None]
        ],
    ) -> None:
        """Verify another node's proofs for the state with a root, as `keep_proofs` does, and keep the values.

        Raises:
            WrongProofError: One of them is wrong; nothing is kept.
            StateError: They cannot be written.
        """

    def known_depth(
        self, roots: Sequence[bytes], accounts: Sequence[bytes], slots: Sequence[tuple[bytes, bytes]]
    ) -> int:
        """Return how many of the blocks with these state roots lead down to all known ones of these values.

        The roots are the newest first. Releases the lock.

        Raises:
            StateError: They cannot be read.
        """

    def carry(
        self,
        state_root: bytes,
        steps: Sequence[tuple[bytes, bytes]],
        accounts: Sequence[bytes],
        slots: Sequence[tuple[bytes, bytes]],
    ) -> tuple[list[bytes], list[tuple[bytes, bytes]]]:
        """Keep values after a block that follow from earlier states; return the other accounts and slots.

        `steps` lead down from that block: the RLP of its access list with its parent's state root, and so on.
        The caller has verified the lists. Releases the lock.

        Raises:
            StateError: A list is malformed, or the values cannot be written.
        """

    def keep_hashes_of(self, of: bytes, hashes: Sequence[tuple[int, bytes]]) -> None:
        """Keep verified hashes of blocks before the block with the hash `of`.

        Raises:
            StateError: They cannot be written.
        """

    def account(self, address: bytes, block: tuple[int, bytes] | BuiltBlock) -> tuple[int, int, bytes] | None:
        """Return nonce, balance in wei and code hash of an account after a block, or None."""

    def code(self, address: bytes, block: tuple[int, bytes] | BuiltBlock) -> bytes:
        """Return the code of an account after a block, empty if it has none."""

    def find_code(self, code_hash: bytes) -> bytes | None:
        """Return the code with this Keccak-256 hash, or None if no committed contract ever had it."""

    def storage(self, address: bytes, slot: bytes, block: tuple[int, bytes] | BuiltBlock) -> bytes:
        """Return the 32 bytes in a slot after a block."""

    def changes_of(
        self,
        address: bytes,
        block: tuple[int, bytes] | BuiltBlock,
        start: int,
        *,
        is_forward: bool,
        limit: int,
    ) -> list[int]:
        """Return the numbers of blocks in which nonce, balance or code of an account changed.

        They are up to a committed block, at most `limit` of them: from `start` on, oldest first, if
        `is_forward`; else from `start` back.
        """

    def addresses(self, number: int, block_hash: bytes) -> list[bytes]:
        """Return the addresses of all accounts after a committed block, ascending. Releases the lock."""

    def slots(self, address: bytes, number: int, block_hash: bytes) -> list[tuple[bytes, bytes]]:
        """Return the slots of an account that are not zero after a committed block, with values, ascending.

        Releases the lock.
        """

    def proof(
        self,
        address: bytes,
        slots: Sequence[bytes],
        block: tuple[int, bytes] | BuiltBlock,
        *,
        changes: int = ...,
        cancel: CancelFlag | None = None,
    ) -> tuple[list[bytes], list[tuple[bytes, list[bytes]]], bytes]:
        """Return nodes that prove an account after a block, values and nodes of slots, and the storage root.

        Nodes are RLP, from the root down. `changes` bounds the bytes of change lists since the block, about
        32 a slot and 22 an account, without a bound by default: an older block takes longer. Releases the
        lock.

        Raises:
            BoundError: The lists are longer, or other threads look back too far at this time.
            StoppedError: `cancel` was set.
        """

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
    ) -> Success | Revert | Halt | Interrupted:
        """Return the outcome of a message on the state after a block, in that block's environment.

        Nothing is kept. It has at most `gas_cap` gas. With a `budget`, in jumps of about 12 ns, the run keeps
        the interpreter's lock and is interrupted beyond it; without one it releases the lock.

        Raises:
            InvalidTransactionError: The message is refused before it runs, or an override is wrong.
        """

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
    ) -> int | Revert | Halt | Interrupted:
        """Return a gas limit with which a message succeeds, or its outcome if it fails with any gas.

        It is at most 1.5 % above the lowest, found by geth's search. The lock is kept or released as by
        `call`.

        Raises:
            InvalidTransactionError: As by `call`; "gas_allowance" if it needs more gas than it may have.
        """

    def begin_console(self) -> None:
        """Keep the console messages of calls and failed estimates from now on, for `take_console`."""

    def take_console(self) -> tuple[list[bytes], int]:
        """Return the inputs of console calls since the last time, and the number of dropped ones.

        256 KiB are kept of one run, and of all runs until they are taken.
        """

    def simulate(
        self,
        header: bytes | BuiltBlock,
        simulation: Simulation,
        *,
        changes: int = ...,
        cancel: CancelFlag | None = None,
    ) -> bytes:
        """Return the blocks of a simulation on top of a block, as the JSON array of `eth_simulateV1`.

        `changes` bounds the bytes of change lists since that block, as in `proof`. Releases the lock.

        Raises:
            InvalidTransactionError: The simulation is refused; the kind is "interrupted" if `cancel` was set.
            BoundError: The lists are longer.
        """

    def build_block(
        self,
        parent: tuple[bytes, bytes],
        attributes: BlockAttributes,
        transactions: Sequence[bytes],
        *,
        senders: Sequence[bytes | None] | None = None,
    ) -> tuple[BuiltBlock, list[tuple[int, str]]]:
        """Return the block after a committed one, and the refused transactions with index and reason.

        `parent` are its header and body row. Transactions are envelopes, tried in order. `senders` has the
        impersonated sender of each, or None for a signed one. Nothing is kept. Releases the lock.

        Raises:
            ValueError: `senders` are not as many as the transactions.
            EngineError: A system call of the block fails.
        """

    def build_next(
        self,
        parent: tuple[bytes, bytes],
        attributes: BlockAttributes,
        transactions: Sequence[bytes],
        *,
        senders: Sequence[bytes | None] | None = None,
        on: BuiltBlock | None = None,
    ) -> tuple[BuiltBlock, list[tuple[int, str]]]:
        """Return the block after the head, as `build_block` does. `accept` does not execute it again.

        `on` is the parent if it is not committed. The block's changes are applied in memory, and dropped
        unless the writer accepts this block next.

        Raises:
            ValueError: `senders` are not as many as the transactions.
            EngineError: A system call of the block fails, or `parent` is not the head.
        """

def inspect_state(
    state: State, progress: Callable[[str, int, int], object], fault: Callable[[str, str], object], /
) -> tuple[int, list[int]]:
    """Return the number of the head, and how many accounts, slots, nodes and codes its state has.

    Every node of the tries is checked against its hash, from the head's state root down; every account and
    slot against its leaf; every code against its hash; and both sides are counted. `progress` is called with
    a table, entries checked and entries in all; `fault` with a table and a text, for each fault. An exception
    of either ends the inspection. Memory does not depend on the state's size. Releases the lock.

    Raises:
        ValueError: The state is known by proofs alone.
    """

def inspect_past(
    state: State,
    first: int,
    nodes: int,
    progress: Callable[[str, int, int], object],
    fault: Callable[[str, str], object],
    /,
) -> int:
    """Return the block to which the state was taken back, block by block: `first`, or a later one.

    Each state root is computed again from the changes of later blocks, and compared with the stored one. The
    inspection ends at a difference, with a fault as by `inspect_state`, or beyond `nodes` nodes of the tries
    in memory, some 300 bytes each. Releases the lock.
    """

def state_blocks(state: State, first: int, limit: int, /) -> list[tuple[int, bytes, bytes, bytes]]:
    """Return number, hash and state root of the blocks from `first` on that the state has, at most `limit`.

    The fourth element is the state root in the block's header, before any patch. Releases the lock.
    """

def create_access_list(
    state: State,
    header: bytes | BuiltBlock,
    message: Message,
    *,
    gas_cap: int,
    nonce: int | None = None,
    cancel: CancelFlag | None = None,
    state_overrides: bytes | None = None,
) -> tuple[bytes, int, str | None] | Interrupted:
    """Return the access list of a message after a block as JSON, the gas used with it, and an error or None.

    The error is the reason why the message fails. `nonce` is by default the sender's. Releases the lock.

    Raises:
        InvalidTransactionError: The message is refused, or an override is wrong.
    """

def trace_block(
    state: State,
    rows: tuple[bytes, bytes],
    options: bytes,
    *,
    index: int | None,
    seconds: float,
    size: int,
    cancel: CancelFlag,
) -> bytes | str:
    """Return the trace of a transaction of a block as JSON, or of all if `index` is None, or a word.

    `rows` are the block's header and body row; its parent is committed. `options` are geth's TraceConfig as
    JSON. `seconds` bounds the time of each transaction, `size` the bytes of the text. The word is "unknown"
    (the tracer), "late", "large" or "cancelled". Releases the lock.

    Raises:
        ValueError: The options are wrong.
        EngineError: The block is the genesis, or `index` is not one of it.
        InvalidTransactionError: A transaction, or a system call, of a block that is not verified cannot be
            run.
    """

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
) -> bytes | str:
    """Return the trace of a message after a block, or after its first `transactions`, or a word.

    The rest is as for `trace_block`.

    Raises:
        ValueError: The options are wrong.
        InvalidTransactionError: The message is refused, or an override is wrong.
    """

def console_messages(
    state: State, rows: tuple[bytes, bytes], *, cancel: CancelFlag
) -> list[tuple[list[bytes], int]] | None:
    """Return the inputs of each transaction's console calls, and the number of dropped ones.

    `rows` are as for `trace_block`; 256 KiB are kept of each transaction. None if `cancel` was set. Releases
    the lock.
    """

def execution_witness(
    state: State, rows: tuple[bytes, bytes], *, changes: int, found: int, cancel: CancelFlag
) -> tuple[bytes, bytes, bytes, int]:
    """Return the witness of a block: its parent's state root, code, trie nodes, and the oldest block.

    Code and nodes are JSON arrays; the last element is the number of the oldest block whose hash the block
    reads. The parent must be committed. `changes` bounds the bytes of change lists since the parent, `found`
    those of the witness. Releases the lock.

    Raises:
        InvalidTransactionError: The block is older than Byzantium; of kind "unsupported".
        InvalidBlockError: The block breaks a rule.
        BoundError: A bound is reached.
        StoppedError: `cancel` was set.
    """

def storage_range(
    state: State,
    rows: tuple[bytes, bytes],
    *,
    transactions: int,
    address: bytes,
    start: bytes,
    count: int,
    cancel: CancelFlag,
) -> bytes:
    """Return slots of a contract as JSON, with the hash of the next one.

    They are from the state after the first `transactions` of a block, at most `count`, in the order of their
    hashes from `start` on. `start` is a hash or its first bytes. Releases the lock.

    Raises:
        StoppedError: `cancel` was set.
    """

def modified_accounts(
    state: State,
    first: tuple[int, bytes],
    last: tuple[int, bytes],
    *,
    changes: int,
    cancel: CancelFlag,
) -> list[bytes]:
    """Return addresses of accounts after block `last` that were absent or different after `first`.

    `first` is the earlier block. They are in the order of their hashes; slots count. `changes` bounds the
    bytes of the change lists in between. Releases the lock.

    Raises:
        BoundError: The lists are longer.
        StoppedError: `cancel` was set.
    """

def changed_keys(
    state: State, first: int, last: tuple[int, bytes], *, changes: int
) -> list[tuple[bytes, bool, list[bytes]]]:
    """Return the accounts and slots that may have changed after block `first` up to block `last`.

    Each account comes with True if more than its slots may have changed, and with its slots. Patches of
    `last` are included. `changes` bounds the bytes of the change lists. Releases the lock.

    Raises:
        BoundError: The lists are longer.
        HistoryError: `last` is not on the chain any more.
    """

def root_after(state: State, block: tuple[int, bytes]) -> bytes:
    """Return the state root after a committed block: that of its header, unless the state was patched.

    Raises:
        HistoryError: The block is not on the chain any more, or its state is not kept.
    """

def parity_transaction(
    state: State,
    rows: tuple[bytes, bytes],
    form: bytes,
    *,
    index: int,
    seconds: float,
    size: int,
    cancel: CancelFlag,
) -> bytes | str:
    """Return the traces of a transaction in Parity's form as JSON, or a word as `trace_block`.

    `form` is JSON: `{"form": "traces"}`, `{"form": "trace", "path": [...]}` for one of them or null,
    `{"form": "results", "types": [...]}` with "trace", "vmTrace" or "stateDiff", or Otterscan's `{"form":
    "entries"}` and `{"form": "operations"}`. Limits are as for `trace_block`. Releases the lock.

    Raises:
        ValueError: The form is none of these.
        EngineError: The block is the genesis, or `index` is not one of it.
        InvalidTransactionError: A transaction, or a system call, of a block that is not verified cannot be
            run.
    """

def parity_block(
    state: State,
    rows: tuple[bytes, bytes],
    types: bytes,
    *,
    seconds: float,
    size: int,
    cancel: CancelFlag,
) -> bytes | str:
    """Return outputs and traces of `types`, a JSON array, of all transactions of a block, or a word.

    The rest is as for `parity_transaction`.
    """

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
) -> tuple[bytes, int] | str:
    """Return the matching traces of a block, joined by commas, and the number found, or a word.

    `filter` is JSON as `trace_filter` takes it, its blocks ignored. The first `skip` matching traces are left
    out but counted; after `count` more the search ends. Rewards come last. The rest is as for
    `parity_transaction`.
    """

def parity_touching(
    state: State,
    rows: tuple[bytes, bytes],
    account: bytes,
    *,
    seconds: float,
    size: int,
    cancel: CancelFlag,
) -> list[int] | str:
    """Return the indices of the transactions whose traces have an account as sender or receiver, or a word.

    The rest is as for `parity_transaction`.
    """

def parity_creator(
    state: State,
    rows: tuple[bytes, bytes],
    account: bytes,
    *,
    seconds: float,
    size: int,
    cancel: CancelFlag,
) -> tuple[bytes, bytes] | str | None:
    """Return the hash of the transaction that created a contract, and its creator's address, or a word.

    None if no transaction of the block created it. The rest is as for `parity_transaction`.
    """

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
) -> list[bytes] | str:
    """Return the results of messages after a block as JSON texts, or a word.

    Each message runs on the state after those before it, and comes with the types of its traces, a JSON
    array. A message has at most `gas_cap` gas and `seconds`; `size` bounds the bytes of all results. Releases
    the lock.

    Raises:
        ValueError: The types are wrong.
        InvalidTransactionError: A message is refused, or an override is wrong.
    """

def parity_raw(
    state: State,
    header: bytes | BuiltBlock,
    encoded: bytes,
    types: bytes,
    *,
    seconds: float,
    size: int,
    cancel: CancelFlag,
) -> bytes | str:
    """Return the result of a signed transaction after a block as JSON, with traces of `types`, or a word.

    Limits and words are as for `trace_block`. Releases the lock.

    Raises:
        ValueError: The types are wrong.
        InvalidTransactionError: The transaction is not valid for the next block.
    """

def block_rewards(spec: ChainSpec, rows: tuple[bytes, bytes]) -> list[int]:
    """Return the rewards of a block in wei: its own miner's first, then its ommers'.

    There are none since the merge.

    Raises:
        CorruptRowError: A row cannot be read.
    """

def call_gas_cap(gas_limit: int, blocks: int, /) -> int:
    """Return the most gas of a call: `blocks` times its block's gas limit, at most 2**63 - 1."""

def revert_message(output: bytes) -> str:
    """Return the error message for a `Revert`, with its reason from Solidity's `Error` or `Panic`, if any."""

def with_supplied_gas(reason: str, gas: int) -> str:
    """Return the error message for a call that cannot begin."""

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
) -> bytes:
    """Return the envelope of a transaction signed with a secret of 32 bytes. Its members decide its type.

    It has `gas_price`, or else `max_fee` and `max_priority_fee`, in wei below 2**128. `to` of None creates a
    contract. `access_list` and `authorizations` are JSON.

    Raises:
        ValueError: Its prices contradict each other, or a text or a length is wrong.
        InvalidTransactionError: Authorizations go with a gas price, or create a contract; of kind "draft".
        EngineError: The secret is not a private key.
    """

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
) -> bytes:
    """Return the envelope of an impersonated sender's transaction, with a placeholder for the signature.

    The placeholder names the sender. Only development chains accept it. The rest is as for
    `sign_transaction`.
    """

def impersonated_sender(encoded: bytes) -> bytes | None:
    """Return the sender in the placeholder of an encoded transaction, or None if it is signed.

    Raises:
        InvalidBlockError: The bytes are no transaction.
    """

def sign_message(secret: bytes, message: bytes) -> bytes:
    """Return the signature of a message (EIP-191), 65 bytes: r, s, and 27 or 28.

    Raises:
        EngineError: The secret is not a private key.
    """

def sign_digest(secret: bytes, digest: bytes) -> bytes:
    """Return the signature of a hash, such as that of typed data (EIP-712), 65 bytes: r, s, and 27 or 28.

    Raises:
        EngineError: The secret is not a private key.
    """

@final
class PooledTransaction:
    """Transaction outside any block, from an envelope, or a blob transaction's envelope with its blobs.

    Its form, chain id and signature are checked, in geth's order and words.

    `to` is None if it creates a contract, and `gas` is its gas limit. `max_fee` and `max_priority_fee` are in
    wei per gas, and both are the gas price if it has only that. `max_blob_fee` is in wei per blob gas, or
    None without blobs. `type` is the type of its envelope, 0 to 4. `encoded` is the envelope as blocks hold
    it, without blobs; `size` is the length of the client's bytes, blobs included. `chain_id` is None if it is
    valid on any chain. `is_replay_protected` is True if its signature contains the chain id.

    Raises:
        InvalidTransactionError: One of them is wrong.
    """

    def __new__(cls, spec: ChainSpec, encoded: bytes) -> PooledTransaction: ...
    @staticmethod
    def impersonated(spec: ChainSpec, encoded: bytes) -> PooledTransaction:
        """Return a transaction of `unsigned_transaction`, from the sender in its placeholder.

        Raises:
            InvalidTransactionError: The bytes are no such transaction, or name no sender.
        """

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
    def authorities(self) -> list[bytes]:
        """Return the signers of its authorizations, without those with an invalid signature."""

    def take_blobs(self) -> list[tuple[bytes, bytes, bytes, list[bytes]]]:
        """Return the blobs that were checked and kept, once: versioned hash, blob, commitment and proofs.

        A blob has one proof, or one for each of its 128 cells, as it was sent. Releases the lock.
        """

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
    keeps_blobs: bool = False,
    gas_limit: int | None = None,
) -> None:
    """Refuse a transaction that is invalid in the block after a header row, or against the pool's terms.

    No state is read. `gas_limit` is the next block's, if it is decided; by default the header's, as with
    geth. `minimum_tip` is wei per gas. A transaction that `was_included` in a block needs no blobs. Blobs are
    proved once, in milliseconds, and the lock is released meanwhile; unless `keeps_blobs` they are dropped
    then.

    Raises:
        InvalidTransactionError: The transaction is refused; its kind names the reason.
        CorruptRowError: The header row cannot be read.
    """

def blob_proof(blob: bytes, commitment: bytes) -> bytes:
    """Return the KZG proof of a blob, 48 bytes. It takes some 20 ms; releases the lock.

    Raises:
        EngineError: The bytes are not a blob and a commitment.
    """

def cell_proofs(blob: bytes) -> list[bytes]:
    """Return the KZG proofs of a blob's 128 cells, 48 bytes each. It takes some 200 ms; releases the lock.

    Raises:
        EngineError: The bytes are not a blob.
    """

def blob_cells(blob: bytes) -> bytes:
    """Return the 128 cells of an extended blob (EIP-7594), one after another. Releases the lock.

    Raises:
        EngineError: The bytes are not a blob.
    """

def render_pooled_transaction(transaction: PooledTransaction) -> bytes:
    """Return a transaction object as JSON, with null for the members of its block."""

def public_key_of(secret: bytes) -> bytes:
    """Return the compressed public key of a secret of 32 bytes, 33 bytes.

    Raises:
        EngineError: The secret is not a private key.
    """

def address_of(secret: bytes) -> bytes:
    """Return the address of the public key of a secret of 32 bytes.

    Raises:
        EngineError: The secret is not a private key.
    """

def keccak256(content: bytes) -> bytes:
    """Return the Keccak-256 hash, 32 bytes."""
