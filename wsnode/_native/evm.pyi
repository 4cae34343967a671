"""Ethereum's chains: rules, blocks verified and built, messages run and traced, transactions signed.

A committed block is named by its number and hash, or by its header row (or header and body row); a block that
was built and is not committed by its `BuiltBlock`. Where a committed one is no longer of the chain, whatever
reads its state raises ReorganisedError; where LMDB fails, or the state is damaged, StateError; where a row
cannot be read, `chain.CorruptRowError`. This holds for every function here that takes a `State`, and
docstrings name only what else they raise.

State overrides and block overrides are JSON objects as `eth_call` takes them. Options of traces are JSON too.
"""

from collections.abc import Callable, Sequence
from typing import final

from typing_extensions import disjoint_base

from wsnode._native.chain import Header

GAS_PER_BLOB: int
"""Blob gas that a blob takes."""

class EngineError(Exception):
    """The engine could not do what it was asked; of this class itself for bugs and wrong uses alone."""

class InvalidGenesisError(EngineError):
    """A genesis.json describes no chain known here."""

class InvalidBlockError(EngineError):
    """A block breaks a rule of its chain.

    `number` and `block_hash` are None where not even its header could be read; `rule` is a stable name such
    as "gas_used" or "state_root"; `expected` and `actual` are words for people.
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
    """The state store cannot be read or written."""

class DamagedStateError(StateError):
    """A row of the state store does not have its checksum, or is behind a damaged page.

    `table` is the table's name; `key` is empty where a walk met a damaged page.
    """

    table: str
    key: bytes

class StateBusyError(StateError):
    """Another process writes to the state store."""

class HistoryError(StateError):
    """No state of block `requested` is stored, only of `earliest` to `latest`."""

    requested: int
    earliest: int
    latest: int

class ReorganisedError(StateError):
    """Block `number` is not, or no longer, the one of hash `wanted` but of `found`, None beyond the head."""

    number: int
    wanted: bytes
    found: bytes | None

class BoundError(StateError):
    """A bound is exceeded: too many changes since the block, or too many results."""

class MissingStateError(EngineError):
    """Values of the state are not known yet; once they are kept, the same can be tried again."""

    accounts: Sequence[bytes]
    slots: Sequence[tuple[bytes, bytes]]
    """Addresses with the 32 bytes of a slot."""
    numbers: Sequence[int]
    """Blocks whose hashes are unknown."""
    block: tuple[int, bytes] | None
    """Number and hash of the block after which they are, where states of several are known by proofs.

    With nothing else its state root is unknown.
    """

class UnprovedError(EngineError):
    """What was asked for does not follow from proofs: lists of values, or roots of states that follow."""

class NotExecutedError(EngineError):
    """Execution came to what is not the EVM's to run: a contract of ArbOS, a Stylus program, a hash."""

    address: bytes
    kind: str
    """`precompile`, `stylus` or `blockhash`."""

class WrongProofError(EngineError):
    """A proof does not prove what it says."""

class StoppedError(StateError):
    """Its `CancelFlag` was set."""

@final
class ChainSpec:
    """The rules of one chain, from the text of geth's genesis.json.

    Raises:
        InvalidGenesisError: It describes no chain known here.
    """

    def __new__(cls, genesis: bytes) -> ChainSpec: ...
    @property
    def chain_id(self) -> int:
        """Return the chain id of the blocks to come."""

    def chain_id_at(self, number: int) -> int:
        """Return the id of the block with a number."""

    def unscheduled_fork(self, block: UnverifiedBlock) -> tuple[str, str] | None:
        """Return genesis key and name of a fork whose header members a block has before it is scheduled."""

    def set_chain_ids(self, changes: list[tuple[int, int]]) -> None:
        """Set which chain ids follow that of the genesis: pairs of first block and id, ascending."""

    @property
    def genesis_hash(self) -> bytes: ...
    @property
    def has_genesis_header(self) -> bool:
        """Return whether more of the genesis block is known than its hash, which is zero if unknown too."""

    @property
    def family(self) -> str:
        """Return whose encodings transactions and receipts have.

        It is `ethereum`, `polygon`, `op-stack` or `arbitrum`.
        """

    @property
    def has_arbos(self) -> bool:
        """Return whether ArbOS runs some accounts of its state, which the engine cannot."""

    @property
    def is_sealed_by_authority(self) -> bool:
        """Return whether authorities seal the blocks, whatever their difficulty."""

    @property
    def is_allotted(self) -> bool:
        """Return whether the accounts of the genesis state are known, and not its root alone."""

    @property
    def terminal_total_difficulty(self) -> int | None:
        """Return the total difficulty from which on blocks are those of proof of stake, None if never."""

    @property
    def first_number(self) -> int:
        """Return the first block's number; not 0 where that is another chain's block."""

    @property
    def begins_elsewhere(self) -> bool:
        """Return whether the state after the first block is known by proofs alone."""

    def genesis_block(self) -> VerifiedBlock:
        """Return the first block, with its rows."""

    def fork_name(self, number: int, timestamp: int) -> str:
        """Return the name of the newest fork active at a block."""

    def engine_generation(self, timestamp: int) -> int:
        """Return the generation of the Engine API's structures of a block after the merge; 1 is Paris."""

    def scheduled_forks(self) -> list[tuple[ForkRow, int]]:
        """Return the forks that the chain schedules, oldest first, each with its block number or time."""

    def blob_parameters(self, timestamp: int) -> tuple[int, int, int] | None:
        """Return target, maximum and fee update fraction of blobs in force, None before blobs."""

    def blob_gas_limit(self, timestamp: int) -> int:
        """Return the blob gas that a block of that time may use, 0 before blobs."""

    def next_base_fee(self, parent: Header, /) -> int | None:
        """Return the base fee of the block after `parent` in wei a gas, None before London."""

    def next_blob_base_fee(self, parent: Header, /) -> int | None:
        """Return the price of blob gas after `parent` in wei a blob gas, None where `parent` has no blobs.

        Blob parameters that begin with the next block do not count yet: the time of that block, which is
        unknown yet, decides. 2**128 - 1 stands for every higher price.
        """

@final
class ForkRow:
    """Row of the table of forks."""

    @property
    def key(self) -> str:
        """Return its key in geth's genesis.json."""

    @property
    def name(self) -> str: ...
    @property
    def is_by_time(self) -> bool:
        """Return True if a time activates the fork, False if a block number does."""

    @property
    def is_blobs_only(self) -> bool:
        """Return True if the fork sets blob parameters and nothing else."""

    @property
    def contracts(self) -> list[tuple[str, str]]:
        """Return contracts that the protocol uses from the fork on: names of eth_config and addresses."""

    @property
    def contract_codes(self) -> list[tuple[str, str]]:
        """Return addresses and codes of these contracts, in hexadecimal."""

    @property
    def precompiles(self) -> list[tuple[str, int]]:
        """Return precompiles from the fork on: names of eth_config and the numbers of their addresses."""

    @property
    def header_members(self) -> int:
        """Return how many members a header has that the fork is the newest of."""

def fork_table() -> list[ForkRow]:
    """Return the rows of all forks but Frontier, oldest first."""

@final
class UnverifiedBlock:
    """A block whose form is right and whose senders are known, but which may break every other rule."""

    @property
    def number(self) -> int: ...
    @property
    def hash(self) -> bytes: ...
    @property
    def parent_hash(self) -> bytes: ...
    @property
    def difficulty(self) -> int: ...
    @property
    def timestamp(self) -> int:
        """Return seconds since 1970."""

    @property
    def gas_used(self) -> int: ...
    @property
    def transaction_count(self) -> int: ...
    @property
    def blob_hashes(self) -> list[bytes]:
        """Return the versioned hashes of all blob transactions, in their order."""

    @property
    def access_list_hash(self) -> bytes | None:
        """Return the hash of the block access list, None before Amsterdam."""

    @property
    def has_own_body(self) -> bool:
        """Return whether the body is the one that the header commits to: else the hash says nothing of it."""

    @property
    def header(self) -> bytes:
        """Return the header row."""

    @property
    def body(self) -> bytes:
        """Return the body row."""

@disjoint_base
class VerifiedBlock:
    """A block that keeps every rule, with what its execution brought forth."""

    @property
    def number(self) -> int: ...
    @property
    def hash(self) -> bytes: ...
    @property
    def parent_hash(self) -> bytes: ...
    @property
    def difficulty(self) -> int: ...
    @property
    def timestamp(self) -> int:
        """Return seconds since 1970."""

    @property
    def gas_used(self) -> int: ...
    @property
    def transaction_count(self) -> int: ...
    @property
    def log_count(self) -> int: ...
    @property
    def header(self) -> bytes:
        """Return the header row."""

    @property
    def body(self) -> bytes:
        """Return the body row."""

    @property
    def receipts(self) -> bytes:
        """Return the receipts row."""

    @property
    def access_list(self) -> bytes | None:
        """Return the RLP of the block access list, None before Amsterdam and where it is not known."""

@final
class BuiltBlock(VerifiedBlock):
    """A block that is executed and not committed, and the state after it.

    That state can be read as long as the last committed block below it stays committed. Blocks below it that
    are not committed either stay in memory with it.
    """

    @property
    def requests(self) -> list[bytes]:
        """Return what it asks of the consensus layer, each request's type before its content."""

    @property
    def failed_calls(self) -> list[str]:
        """Return why it lacks requests of system contracts, a text for each."""

    def rebased(self, parent: BuiltBlock | None) -> BuiltBlock:
        """Return the block with another instance of its parent, or None once the parent is committed.

        The blocks below the earlier instance are released.
        """

    @property
    def size(self) -> int:
        """Return how many bytes it takes in memory, roughly, without the blocks below it."""

def decode_blocks(
    spec: ChainSpec, encoded: Sequence[bytes], *, with_unsigned: bool = False
) -> tuple[list[UnverifiedBlock], InvalidBlockError | None]:
    """Return the blocks before the first malformed one, and its error, not raised; of RLP, an item a block.

    A bad signature counts as malformed. Senders are recovered on all cores, 42 us each. `with_unsigned` ones
    may be named in place of a signature, as in blocks of development chains. Releases the lock.
    """

def block_from_rows(spec: ChainSpec, header: bytes, body: bytes) -> UnverifiedBlock:
    """Return a block from its stored rows, with the senders that they name.

    Raises:
        CorruptRowError: A row cannot be read.
    """

def encode_proved_receipts(block: bytes, receipts: bytes, family: str = "ethereum") -> bytes:
    """Return the row of the receipts of a family's block in RLP, out of another node's JSON.

    Raises:
        InvalidBlockError: They are not the block's, or no JSON of receipts.
        ValueError: No family has the name.
    """

def arbos_fork(block: bytes) -> str:
    """Return the fork whose rules ArbOS has at a block of another node's JSON: `prague` or `osaka`.

    Raises:
        InvalidBlockError: It is not the JSON of a block.
    """

def read_json_header(block: bytes) -> tuple[int, bytes, bytes]:
    """Return number, hash and parent's hash of the header in another node's JSON of a block.

    Raises:
        InvalidBlockError: It is no such JSON.
    """

def read_dump(text: bytes) -> list[tuple[bytes, int, str, str, bytes]]:
    """Return the accounts of a state dump in anvil's format, as JSON.

    Each is an address, nonce, balance and code in hex, and the JSON text of its slots, of 32 bytes each.
    Members other than `accounts` are passed over. Releases the lock.

    Raises:
        ValueError: It is no such JSON.
    """

def encode_json_block(block: bytes, ommers: Sequence[bytes]) -> bytes:
    """Return the RLP of a block that another node tells in JSON, with whole transactions.

    `ommers` are the JSON texts of its ommers, in their order. Hashes in the JSON are passed over: compute
    that of the result. Releases the lock.

    Raises:
        InvalidBlockError: It is no such JSON, by the rule `json`.
    """

def encode_json_receipts(receipts: bytes) -> bytes:
    """Return the row of a block's receipts that another node tells in JSON. Releases the lock.

    Nothing is checked but their form: `verify_with_receipts` holds them against the block's header.

    Raises:
        InvalidBlockError: It is no such JSON, by the rule `json`.
    """

def verify_with_receipts(
    spec: ChainSpec, block: UnverifiedBlock, receipts: bytes, access_list: bytes | None = None
) -> BuiltBlock | InvalidBlockError:
    """Return a block whose body and receipts are those of its header, or which rule it breaks, not raised.

    With `access_list`, the RLP of its block access list, that must be the header's as well.
    Nothing is executed: the block that is returned has no changes, and says nothing of the state after it.
    The header itself is not checked. Releases the lock.
    """

@final
class Payload:
    """A payload of the Engine API, of whose JSON the form is right; nothing else is checked yet.

    Raises:
        ValueError: A member is missing, unknown or malformed; the text says which.
    """

    def __new__(cls, text: bytes) -> Payload: ...
    @property
    def version(self) -> int:
        """Return which structure it is: 1 of Paris, 2 with withdrawals, 3 with blob gas."""

    @property
    def number(self) -> int: ...
    @property
    def timestamp(self) -> int:
        """Return seconds since 1970."""

    @property
    def block_hash(self) -> bytes:
        """Return the hash that it says it has."""

    @property
    def parent_hash(self) -> bytes: ...
    def block(
        self,
        spec: ChainSpec,
        *,
        parent_beacon_block_root: bytes | None = None,
        requests: Sequence[bytes] | None = None,
    ) -> UnverifiedBlock | InvalidBlockError:
        """Return its block with the senders, or which rule it breaks, not raised; "block_hash" comes first.

        Requests are a type's byte and what follows it, and count for the hash where they are given. Releases
        the lock.
        """

@final
class Execution:
    """The outcome of executing blocks."""

    @property
    def verified(self) -> list[VerifiedBlock]:
        """Return the blocks before the first invalid one."""

    @property
    def error(self) -> InvalidBlockError | None:
        """Return what is wrong with the block after them, not raised."""

@final
class CancelFlag:
    """Ends the run that it was given to, once it is set by any thread. Serves one run."""

    def __new__(cls) -> CancelFlag: ...
    def set(self) -> None:
        """Have the run end where it next looks, at a jump or a call."""

    @property
    def is_set(self) -> bool:
        """Return whether it was set; tracing functions set it themselves where their limits are reached."""

@final
class Message:
    """A message to run, as in `eth_call`; absent members have geth's defaults.

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
    """The bytes of the live calls of all chains that share a bound."""

    def __new__(cls) -> LiveBytes: ...

@final
class LiveCalls:
    """The calls that subscribers of a chain watch: their outcomes, and what these depend on.

    Lists of calls have numbers. A call has an outcome after the block of the last step, or it is due. Texts
    are entries of notifications, with commas between; digests have 8 bytes for each call of a list.
    """

    def __new__(
        cls, *, gas: int, gas_blocks: int, reads: int, bytes: int, all_bytes: LiveBytes
    ) -> LiveCalls: ...
    def admits(self, messages: list[Message]) -> bool:
        """Return whether there is room for the calls of a subscription."""

    def add(self, messages: list[Message], client: int) -> int:
        """Add the calls of a client's subscription, and return the number of their list."""

    def remove(self, list: int) -> None:
        """Forget a list, and the calls that no other list has."""

    def require_proved(self, state: State, header: bytes, most: int) -> None:
        """Return if all that calls have read is known after a block whose state other nodes prove.

        Releases the lock.

        Raises:
            MissingStateError: It is not; of that it names about `most` values, and others the next time.
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

        The state's lists name what changed since block `since` in at most `changes` bytes, or proved values
        of both blocks do, and the state after that block was the one of `step`; without one of them, or in
        more bytes, everything may have changed. Without `step` alone, the state after `since` counts as that
        of the step before from here on.
        The steps after `step` cannot be named any more. Releases the lock.

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
        """Have the lists that may be late no more end at the last step's state; True if there are any."""

    def unpin(self) -> None:
        """Have no list end at another state than that of the last step."""

    def run_late(
        self, state: State, header: bytes, *, slice_seconds: float, call_seconds: float, cancel: CancelFlag
    ) -> bool:
        """Run calls of pinned lists for some seconds, and return True once there is none. Releases the lock.

        `state` and `header` are those of the step that the lists were pinned to.

        Raises:
            MissingStateError: A call lacks values of the state; it runs again with the next call.
        """

    def take_late_ready(self) -> list[tuple[int, int | None, tuple[bytes, bytes] | None]]:
        """Return the pinned lists whose calls have all ended, as `take_ready` returns others."""

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
        """Return digests of a list's outcomes after a block, from one call on, as many as there is time for.

        Raises:
            MissingStateError: The calls lack values of the state.
            StateError: The state after the block is not kept.
        """

    def retry_lacking(self) -> None:
        """Have the calls run again that lacked values of the state."""

    def fail_lacking(self, code: int, message: str) -> None:
        """End the calls that lack values of the state with an error."""

    def take_ready(self) -> list[tuple[int, int | None, tuple[bytes, bytes] | None]]:
        """Return the lists whose outcomes have become complete and differ from those returned before.

        Each comes with the last step after which it was complete, and with the entries that differ and the
        digests of what was returned before; without these the first time.
        """

    def is_complete(self, list: int) -> bool:
        """Return whether all calls of a list have their outcome, if after the step that it was pinned to."""

    def complete_since(self, list: int) -> int | None:
        """Return the last step after which a list was complete, None before the first one."""

    def told(self, list: int) -> bytes:
        """Return the digests of what `take_ready` returned of a list."""

    def changes(self, list: int, digests: bytes) -> bytes:
        """Return the entries of a list that differ from the outcomes with these digests."""

    @property
    def steps(self) -> int:
        """Return the number of the last step."""

    @property
    def has_due(self) -> bool:
        """Return whether a call waits for its run, and for no values."""

    @property
    def is_too_late(self) -> bool:
        """Return whether a list has waited for as many blocks as it may."""

    @property
    def bytes(self) -> int:
        """Return the bytes of all calls, their outcomes and what these depend on."""

    @property
    def runs(self) -> int:
        """Return how many calls have run so far."""

    @property
    def late_blocks(self) -> int:
        """Return by how many blocks lists were late so far."""

    @property
    def each_block(self) -> int:
        """Return how many calls run after each block."""

@final
class Simulation:
    """Blocks of calls for `State.simulate`: each with its block overrides, state overrides and calls.

    In the place of a call that contradicts itself stands what is wrong with it, which is raised when its turn
    comes. `gas_cap` is for all calls together. With `validation` nonces and fees count as in real blocks.

    Raises:
        InvalidTransactionError: The overrides are not what they must be; of kind "overrides".
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
    """The attributes of a block that its maker decides.

    `base_fee`, in wei, stands instead of the one that follows from the parent. `withdrawals` are tuples of
    index, validator index, address and amount in gwei. `slot_number` counts from Amsterdam on; it is one
    more than the parent's unless given. A block that `may_lack_requests` has none of a system contract that
    fails, and is invalid for every other node; any other is not built then.
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
    """A run that came to its end."""

    @property
    def output(self) -> bytes: ...
    @property
    def gas_used(self) -> int:
        """Return the gas used, refunds taken off."""

    @property
    def gas_refunded(self) -> int: ...

@final
class Revert:
    """A run that the contract took back; the output says why."""

    @property
    def output(self) -> bytes: ...
    @property
    def gas_used(self) -> int: ...

@final
class Halt:
    """A run that broke a rule of the EVM."""

    @property
    def reason(self) -> str:
        """Return the rule in geth's words."""

    @property
    def gas_used(self) -> int: ...

@final
class Interrupted:
    """A run that was ended before its time."""

    @property
    def cancelled(self) -> bool:
        """Return whether its `CancelFlag` was set; if not, it went beyond its budget."""

@final
class State:
    """The EVM state of one chain, after every block, in a folder of its own.

    A process that forks opens it afterwards. One process writes, any number read beside it. Any thread may
    call any method. Those that write (`execute`, `commit`, `sync_now`, `unwind`, `patch`) wait for each
    other, without the interpreter's lock, and belong in a worker thread; in a reader they raise EngineError.
    Reading never waits for them, and sees committed blocks only.

    Opening releases the lock, and writes the genesis state where a writer's folder is empty.

    With `proved` nothing is executed, and the state after any block is what is known of it by proofs: reads
    raise MissingStateError for what is not, and UnprovedError where none can be had.

    Raises:
        StateBusyError: Another process writes.
        StateError: The folder holds the state of another chain, none yet for a reader, or cannot be read.
    """

    def __new__(cls, path: str, spec: ChainSpec, *, writer: bool, proved: bool = False) -> State: ...
    def pin(self) -> State:
        """Return the same state, all of whose reads see the last commit of now, as long as no two overlap."""

    @property
    def head(self) -> tuple[int, bytes]:
        """Return number and hash of the head with what is not committed, in a reader of the committed one."""

    @property
    def committed_head(self) -> tuple[int, bytes]:
        """Return number and hash of the head on the disk, whichever process wrote it."""

    def require_usable(self) -> None:
        """Return if changes of the state are kept, and can be made as far as is known.

        Raises:
            StoreMovedError: The file's path leads to it no more; a change raises StateError then.
            StoreFailedError: The file cannot be opened again after a failed write.
        """

    def require_undamaged(self) -> None:
        """Return if no read has met a damaged row since the state was opened.

        Raises:
            DamagedRowError: One has; this names the first.
        """

    @property
    def damaged(self) -> int:
        """Return how often a read has met a damaged row since the state was opened."""

    def committed(self) -> tuple[int, int, bytes, bytes]:
        """Return the version of the store, and number, hash and state root of the head that it has.

        Versions ascend with each commit, of any process.
        """

    def copy(self, descriptor: int) -> None:
        """Write what is committed at some moment of the call to an open file, as a store without free pages.

        It takes as long as the reader of that file, a pipe say; until then its version is read. What is known
        by proofs alone is no part of it. Releases the lock.

        Raises:
            StateError: The file cannot be written, or nobody reads it any more.
        """

    def execute(
        self,
        blocks: Sequence[UnverifiedBlock],
        ancestors: Sequence[tuple[bytes, bytes]],
        *,
        total_difficulty: int,
        attributes: BlockAttributes | None = None,
    ) -> Execution:
        """Return the blocks that keep every rule, one on top of the other, and what the next one breaks.

        The first follows the head. They are executed in memory until `commit`. `ancestors` are header and
        body row of the head and of up to six blocks before it, the nearest first; `total_difficulty` is that
        of the head. With `attributes`, the first block's gas limit and base fee are what its maker chose.
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
        """Return which of the rules that need no execution a block breaks after its `ancestors`, or None.

        `ancestors` are its parent and those before it, the nearest first; `total_difficulty` is the parent's.
        With `attributes` its gas limit and base fee are what its maker chose.
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
        """Return a block executed after its parent, or which rule it breaks, not raised; nothing is kept.

        Every rule is checked, as by `execute`. The parent may be any committed or built block. `ancestors`
        are the rows of the parent and of up to six blocks before it, the nearest first; `total_difficulty`
        is that of the parent. `changes` bounds the bytes of the lists of what the chain changed since the
        last committed block below. Releases the lock.

        Raises:
            BoundError: More has changed.
        """

    def accept(self, block: BuiltBlock) -> None:
        """Put a built block on top of the head, of which it is a child, in memory until `commit`.

        It is not executed again. Releases the lock.

        Raises:
            EngineError: The head is another block than its parent, or the state does not come out as before,
                which is a bug.
        """

    def commit(self, *, sync: bool) -> None:
        """Write every executed block. Without `sync` a power cut may lose it, a killed process does not.

        Releases the lock.
        """

    def commit_whole(self) -> None:
        """Write every executed block, to be read at once by all processes.

        A killed process loses nothing of it. A power cut before `sync_now` returns may undo this commit, and
        then leaves the store whole, as it was before. Releases the lock.
        """

    def sync_now(self) -> None:
        """Bring everything committed to the disk. Releases the lock."""

    @property
    def state_root(self) -> bytes:
        """Return the state root after the head on the disk, patches included."""

    def prune(self, number: int, *, most: int, sync: bool) -> bool:
        """Forget the states before a committed block for ever; return whether there may be more to forget.

        `most` values are looked at, each an account or a slot; call it again until there is no more. The
        block itself and later ones can be read and returned to as before, earlier ones no more from the first
        call on. Releases the lock.

        Raises:
            HistoryError: There is no such block from the first state to the committed head.
        """

    def unwind(self, number: int, *, state_root: bytes | None = None) -> bytes:
        """Go back to block `number`, committed and synced, and return its hash.

        What is not committed is forgotten. With `state_root`, patches of that block are taken back until its
        state has that root again. Releases the lock.

        Raises:
            HistoryError: There is no such block up to the head.
            StateError: Its state never had that root.
        """

    def patch(self, changes: bytes, *, sync: bool = True) -> bytes:
        """Change the state after the head in place, as state overrides say, and return the new state root.

        It is committed, with `sync` as by `commit`. Releases the lock.

        Raises:
            InvalidTransactionError: The overrides are not what they must be, or move a precompiled contract.
            StateError: Executed blocks are not committed yet.
        """

    def keep_proofs(
        self,
        proofs: Sequence[
            tuple[bytes, Sequence[bytes], Sequence[tuple[bytes, Sequence[bytes]]], bytes | None]
        ],
    ) -> None:
        """Verify what another node sent of the state after the first block, and keep it.

        Of each account: its address, the nodes that prove it, slots with the nodes that prove them, and its
        code, None if that is known.

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
        """Take note of a block's state root, which is verified: states known by proofs are read by it."""

    def keep_proofs_of(
        self,
        state_root: bytes,
        proofs: Sequence[
            tuple[bytes, Sequence[bytes], Sequence[tuple[bytes, Sequence[bytes]]], bytes | None]
        ],
    ) -> None:
        """Verify what another node sent of the state with a root, as `keep_proofs` does, and keep it.

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
        The lists must be verified. Releases the lock.

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
        """Return the code of an account after a block, empty where it has none."""

    def find_code(self, code_hash: bytes) -> bytes | None:
        """Return the code of this Keccak-256 hash, None if no contract of a committed block ever had it."""

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
        """Return the addresses of all accounts after a committed block, in their order. Releases the lock."""

    def slots(self, address: bytes, number: int, block_hash: bytes) -> list[tuple[bytes, bytes]]:
        """Return slots and values of an account that are not zero after a committed block, in order.

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

        Nodes are RLP, from the root down. The older the block, the longer: `changes` bounds how far back it
        may lie, in bytes of the lists of what changed since (about 32 a slot and 22 an account), without a
        bound if it is absent. Releases the lock.

        Raises:
            BoundError: More has changed, or other threads look back too far at this time.
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
        """Return how a message ends that runs on the state after a block, as if it were in that block.

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
        """Return a gas limit with which a message succeeds, or how it fails whatever its gas.

        It is at most 1.5 % above the lowest, searched as geth does. The lock is kept or released as by
        `call`.

        Raises:
            InvalidTransactionError: As by `call`; "gas_allowance" where it needs more gas than it may have.
        """

    def begin_console(self) -> None:
        """Keep what calls and estimates that fail say to the console from now on, for `take_console`."""

    def take_console(self) -> tuple[list[bytes], int]:
        """Return the inputs of calls of the console since the last time, and the number that was left out.

        Of a run, and of all until they are taken, 256 KiB are kept.
        """

    def simulate(
        self,
        header: bytes | BuiltBlock,
        simulation: Simulation,
        *,
        changes: int = ...,
        cancel: CancelFlag | None = None,
    ) -> bytes:
        """Return the blocks of a simulation on top of a block, as the JSON array that eth_simulateV1 returns.

        `changes` bounds how far back that block may lie, as in `proof`. Releases the lock.

        Raises:
            InvalidTransactionError: Of the kind that is wrong; "interrupted" where `cancel` was set.
            BoundError: More has changed since the block.
        """

    def build_block(
        self,
        parent: tuple[bytes, bytes],
        attributes: BlockAttributes,
        transactions: Sequence[bytes],
        *,
        senders: Sequence[bytes | None] | None = None,
    ) -> tuple[BuiltBlock, list[tuple[int, str]]]:
        """Return the block after a committed one, and which transactions were left out, with reasons.

        `parent` are its header and body row. Transactions are envelopes, tried in order; one left out is
        named by its index. `senders` has for each the address that it is impersonated as, or None where it is
        signed. Nothing is kept. Releases the lock.

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
    ) -> tuple[BuiltBlock, list[tuple[int, str]]]:
        """Return the block after the head, as `build_block` does; `accept` executes nothing of it again.

        Its changes are applied in memory, and forgotten unless it is what the writer accepts next.

        Raises:
            ValueError: `senders` are not as many as the transactions.
            EngineError: A system call of the block fails, or `parent` is not the head.
        """

def check_state_rows(
    state: State, progress: Callable[[str, int, int], object], fault: Callable[[str, str], object], /
) -> int:
    """Return how many rows of the state store do not have their checksums.

    `progress` and `fault` are called as by `inspect_state`. Releases the lock.
    """

def inspect_state(
    state: State, progress: Callable[[str, int, int], object], fault: Callable[[str, str], object], /
) -> tuple[int, list[int]]:
    """Return the number of the head and how many accounts, slots, nodes and codes its state has.

    Every node of the tries is held against its hash, from the head's state root down; every account and slot
    against its leaf; every code against its hash; and both sides are counted. `progress` is called with a
    table, entries looked at and entries in all; `fault` with a table and words, for each thing that is not
    as it must be. What they raise ends the inspection. Memory does not depend on the state's size. Releases
    the lock.

    Raises:
        ValueError: The state is one that is known by proofs.
    """

def inspect_past(
    state: State,
    first: int,
    nodes: int,
    progress: Callable[[str, int, int], object],
    fault: Callable[[str, str], object],
    /,
) -> int:
    """Return to which block the state was taken back, block by block: `first`, or a later one.

    The state root of each is put together again from what the blocks after it changed, and held against the
    one that is stored. It ends where they differ, which is reported as by `inspect_state`, or where the tries
    have more than `nodes` nodes in memory, some 300 bytes each. Releases the lock.
    """

def state_blocks(state: State, first: int, limit: int, /) -> list[tuple[int, bytes, bytes, bytes]]:
    """Return number, hash and state root of the blocks from `first` on that the state knows, at most `limit`.

    The fourth is the state root before the first patch of that state: the one in the block's header. Releases
    the lock.
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
    """Return the access list of a message after a block as JSON, the gas used with it, and why it fails.

    `nonce` is the sender's if it is absent. Releases the lock.

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
    """Return the trace of a transaction of a block as JSON, or of all where the index is None, or a word.

    `rows` are the block's header and body row; its parent is committed. `options` are geth's TraceConfig as
    JSON; `index` must be one of the block. `seconds` bounds the time of each transaction, `size` the bytes
    of the text. The word is "unknown" (the tracer), "late", "large" or "cancelled". Releases the lock.

    Raises:
        ValueError: The options are not what they must be.
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
    """Return the trace of a message after a block, or after its first `transactions`; or a refusal's word.

    Otherwise as `trace_block`.

    Raises:
        ValueError: The options are not what they must be.
        InvalidTransactionError: The message is refused, or an override is wrong.
    """

def console_messages(
    state: State, rows: tuple[bytes, bytes], *, cancel: CancelFlag
) -> list[tuple[list[bytes], int]] | None:
    """Return the inputs of each transaction's calls of the console, and how many more there were.

    `rows` are as of `trace_block`; of a transaction 256 KiB are kept. None if `cancel` was set. Releases the
    lock.
    """

def execution_witness(
    state: State, rows: tuple[bytes, bytes], *, changes: int, found: int, cancel: CancelFlag
) -> tuple[bytes, bytes, bytes, int]:
    """Return what a block needs of the state after its parent, which is committed, to be executed elsewhere.

    These are the parent's state root; code and trie nodes as JSON arrays; and the number of the oldest block
    whose hash it asks for. `changes` bounds the bytes of the lists of what changed since the parent, `found`
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
    """Return slots of a contract after the first `transactions` of a block as JSON, with the next slot's
    hash.

    There are at most `count`. They come in the order of their hashes, from `start` on, which is a hash or its
    first bytes. Releases the lock.

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
    """Return addresses of accounts that are there after block `last`, and not so after the earlier `first`.

    They are in the order of their hashes; slots count. `changes` bounds the bytes of the lists of what
    changed in between. Releases the lock.

    Raises:
        BoundError: More has changed.
        StoppedError: `cancel` was set.
    """

def changed_keys(
    state: State, first: int, last: tuple[int, bytes], *, changes: int
) -> list[tuple[bytes, bool, list[bytes]]]:
    """Return what may have changed after block `first` up to the committed block `last`.

    Each account comes with True if more than its slots may have, and with those slots. Patches of `last` are
    among them. `changes` bounds the bytes of the lists of what changed. Releases the lock.

    Raises:
        BoundError: More has changed.
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
    """Return what a transaction of a block did, as JSON in Parity's form, or a word as `trace_block`.

    `form` is JSON: `{"form": "traces"}`, `{"form": "trace", "place": [...]}` for one of them or null,
    `{"form": "results", "types": [...]}` with "trace", "vmTrace" or "stateDiff", or Otterscan's `{"form":
    "entries"}` and `{"form": "operations"}`. Limits are as of `trace_block`. Releases the lock.

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

    Otherwise as `parity_transaction`.
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
    """Return traces of a block that match a filter, joined by commas, and how many were found, or a word.

    `filter` is JSON as `trace_filter` takes it, its blocks ignored. `skip` of them are passed over, and
    counted; after `count` more the search ends. Rewards come last. Otherwise as `parity_transaction`.
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

    Otherwise as `parity_transaction`.
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
    """Return the hash of the transaction that created a contract, and the address of its creator, or a word.

    None where no transaction of the block did. Otherwise as `parity_transaction`.
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
    """Return the results of messages that run after a block, each on what those before it left, or a word.

    Each message comes with the types of traces that it shall have, a JSON array; each result is JSON. A
    message has at most `gas_cap` gas and `seconds`; `size` bounds the bytes of all results. Releases
    the lock.

    Raises:
        ValueError: The types are not what they must be.
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

    Limits and words are as of `trace_block`. Releases the lock.

    Raises:
        ValueError: The types are not what they must be.
        InvalidTransactionError: It is no transaction that a block could hold now.
    """

def block_rewards(spec: ChainSpec, rows: tuple[bytes, bytes]) -> list[int]:
    """Return what a block pays in wei, to its own miner first, then to those of its ommers.

    It is nothing since the merge.

    Raises:
        CorruptRowError: A row cannot be read.
    """

def call_gas_cap(gas_limit: int, blocks: int, /) -> int:
    """Return the gas that a call may have: `blocks` times its block's gas limit, at most 2**63 - 1."""

def revert_message(output: bytes) -> str:
    """Return the message for a `Revert` with its reason, if that is Solidity's `Error` or `Panic`."""

def with_supplied_gas(reason: str, gas: int) -> str:
    """Return the message for a call that cannot begin."""

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
    """Return the envelope of a transaction signed with a secret of 32 bytes; its members make its type.

    It has `gas_price`, or else `max_fee` and `max_priority_fee`, in wei below 2**128. `to` of None creates a
    contract. `access_list` and `authorizations` are JSON.

    Raises:
        ValueError: Its prices contradict each other, or a text or a length is wrong.
        InvalidTransactionError: Authorizations go with a gas price, or create a contract; of kind "draft".
        EngineError: The secret is none.
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
    """Return the envelope of an impersonated sender's transaction, whose name stands in place of a signature.

    Only development chains take it. Otherwise as `sign_transaction`.
    """

def impersonated_sender(encoded: bytes) -> bytes | None:
    """Return the sender that a block's transaction names in place of a signature, None of a signed one.

    Raises:
        InvalidBlockError: It is no transaction.
    """

def sign_message(secret: bytes, message: bytes) -> bytes:
    """Return the signature of a message (EIP-191): r, s, and 27 or 28, 65 bytes.

    Raises:
        EngineError: The secret is none.
    """

def sign_digest(secret: bytes, digest: bytes) -> bytes:
    """Return the signature of a hash, such as that of typed data (EIP-712): r, s, and 27 or 28, 65 bytes.

    Raises:
        EngineError: The secret is none.
    """

@final
class PooledTransaction:
    """A transaction that no block holds yet, from an envelope, or a blob transaction wrapped with its blobs.

    Its form, chain id and signature are checked, in geth's order and words.

    Raises:
        InvalidTransactionError: One of them is wrong.
    """

    def __new__(cls, spec: ChainSpec, encoded: bytes) -> PooledTransaction: ...
    @staticmethod
    def impersonated(spec: ChainSpec, encoded: bytes) -> PooledTransaction:
        """Return a transaction made by `unsigned_transaction`, from the sender that it names.

        Raises:
            InvalidTransactionError: It is none, or names no sender.
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
    def to(self) -> bytes | None:
        """Return the address that it calls, None if it creates a contract."""

    @property
    def value(self) -> int: ...
    @property
    def gas(self) -> int:
        """Return its gas limit."""

    @property
    def max_fee(self) -> int:
        """Return the most wei that it pays for a unit of gas; the gas price where it names only that."""

    @property
    def max_priority_fee(self) -> int:
        """Return the most wei of these for the block's maker; the gas price where it names only that."""

    @property
    def max_blob_fee(self) -> int | None:
        """Return the most wei that it pays for a unit of blob gas, None without blobs."""

    @property
    def blob_hashes(self) -> list[bytes]: ...
    @property
    def type(self) -> int:
        """Return the type of its envelope, 0 to 4."""

    @property
    def size(self) -> int:
        """Return how many bytes the client sent, blobs included."""

    @property
    def encoded(self) -> bytes:
        """Return the envelope as blocks hold it, without blobs."""

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
    def chain_id(self) -> int | None:
        """Return the chain that it is for, None if it is for any."""

    @property
    def is_replay_protected(self) -> bool:
        """Return whether its signature names the chain."""

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
    """Refuse a transaction that no block after a header row could hold, or that the pool does not take.

    No state is asked. `gas_limit` is that of the next block, if it is decided; otherwise that of the header
    counts, as with geth. `minimum_tip` is wei a gas; a transaction that `was_included` in a block needs no
    blobs. Blobs are proved once, in milliseconds, which releases the lock; unless `keeps_blobs` they are let
    go then.

    Raises:
        InvalidTransactionError: Of the kind that is wrong.
        CorruptRowError: The header row cannot be read.
    """

def blob_proof(blob: bytes, commitment: bytes) -> bytes:
    """Return the KZG proof of a blob, 48 bytes. It takes some 20 ms; releases the lock.

    Raises:
        EngineError: They are no blob and commitment.
    """

def cell_proofs(blob: bytes) -> list[bytes]:
    """Return the KZG proofs of a blob's 128 cells. It takes some 200 ms; releases the lock.

    Raises:
        EngineError: It is no blob.
    """

def blob_cells(blob: bytes) -> bytes:
    """Return the 128 cells of an extended blob (EIP-7594), one after another. Releases the lock.

    Raises:
        EngineError: It is no blob.
    """

def render_pooled_transaction(transaction: PooledTransaction) -> bytes:
    """Return a transaction object as JSON whose members that name a block are null."""

def public_key_of(secret: bytes) -> bytes:
    """Return the compressed public key of a secret of 32 bytes, 33 bytes.

    Raises:
        EngineError: The secret is none.
    """

def address_of(secret: bytes) -> bytes:
    """Return the address that belongs to a secret of 32 bytes.

    Raises:
        EngineError: The secret is none.
    """

def keccak256(content: bytes) -> bytes:
    """Return the Keccak-256 hash, 32 bytes."""
