"""Starknet's state commitment and its proofs, state-diff commitment, class hashes, and blocks recomputed.

Field elements come as 32 bytes big-endian, packed one after another into records. All functions release the
interpreter's lock while they hash.
"""

from typing import final

@final
class StarknetTries:
    """The tries of a whole Starknet state in memory, empty at first.

    One thread at a time: a call while another one runs is a RuntimeError.
    """

    def __new__(cls) -> StarknetTries: ...
    def apply(self, storage: bytes, class_hashes: bytes, nonces: bytes, compiled_classes: bytes) -> None:
        """Change the state as one block does, hashing contracts on all cores.

        `storage` has records of address, key and value; `class_hashes` of address and class hash; `nonces` of
        address and nonce; `compiled_classes` of class hash and compiled class hash. A value of 0 removes.
        What undoes a block is applied alike.

        Raises:
            ValueError: The bytes are no whole number of records; nothing was changed.
        """

    def root(self, always_joined: bool) -> bytes:
        """Return the global state root, 32 bytes.

        `always_joined` is true from Starknet 0.14 on, where an empty class trie no longer lets the root of
        the contracts stand alone.
        """

    def prove(
        self, class_hashes: bytes, contracts: bytes, storage: list[tuple[bytes, bytes]], block_hash: bytes
    ) -> bytes:
        """Return the result of `starknet_getStorageProof` for the current state, as JSON.

        `storage` has addresses and the keys of their slots, one behind the other. `block_hash` is that of the
        block whose state this is. A contract that the state has not is null among the leaves.

        Raises:
            ValueError: The bytes are no whole number of field elements.
        """

class RefusedProofError(Exception):
    """A storage proof is malformed, or does not lead from the state root to what it tells.

    `rule` names what is wrong: malformed, too_many_keys, key_out_of_range, too_many_bytes, too_many_items,
    other_value, missing_node, wrong_edge, several_roots or unknown_storage_root. The message has the member
    and the values.
    """

    rule: str

@final
class StarknetProvedState:
    """What a state root proves of some contracts and classes, in the order in which they were asked for."""

    @property
    def class_leaves(self) -> list[bytes | None]:
        """The leaf of each class, a hash of its compiled class hash; None if it is not declared."""

    @property
    def contracts(self) -> list[tuple[bytes, bytes, bytes, list[bytes]] | None]:
        """Class hash, nonce, storage root and values of the slots; None for one that the state has not."""

def verify_starknet_proof(
    proof: bytes,
    block_hash: bytes,
    state_root: bytes,
    class_hashes: bytes,
    contracts: list[tuple[bytes, bytes]],
) -> StarknetProvedState:
    """Verify a result of `starknet_getStorageProof` by the state root of a block.

    `contracts` has the addresses that were asked for, in this order, each with the keys of its slots, one
    behind the other; none for a contract without slots. Storage proofs may come in any order. At most 100
    keys, contracts and classes included, and 16 MiB.

    Raises:
        RefusedProofError: The proof is malformed or false, or the keys are too many or too large.
        ValueError: The bytes are no field elements.
    """

class RefusedBlockError(Exception):
    """A block is malformed, or its hash proves something else.

    `member` is the path of the member that is wrong, as in `transactions[3].receipt.transaction_hash`, or the
    commitment that covers it. `expected` is what the rest of the block demands; `actual` is what is told, or
    what is wrong with its form.
    """

    member: str
    expected: str
    actual: str

@final
class StarknetBlockProof:
    """What a block's hash proves. Hashes, roots and commitments have 32 bytes."""

    @property
    def number(self) -> int: ...
    @property
    def hash(self) -> bytes: ...
    @property
    def parent_hash(self) -> bytes: ...
    @property
    def new_root(self) -> bytes: ...
    @property
    def old_root(self) -> bytes | None:
        """The root that the state update begins with; the parent's hash covers it, not this block's."""

    @property
    def formula(self) -> str:
        """The first protocol version that hashes its blocks as this one: 0.0.0, 0.7.0, 0.13.2 or 0.13.4."""

    @property
    def transaction_count(self) -> int: ...
    @property
    def event_count(self) -> int: ...
    @property
    def transaction_commitment(self) -> bytes: ...
    @property
    def event_commitment(self) -> bytes: ...
    @property
    def receipt_commitment(self) -> bytes | None:
        """None before version 0.13.2, like commitment and length of the state diff."""

    @property
    def state_diff_commitment(self) -> bytes | None: ...
    @property
    def state_diff_length(self) -> int | None: ...
    @property
    def transaction_hashes(self) -> list[bytes]: ...
    @property
    def derived(self) -> list[str | None]:
        """What receipts tell that follows from the transactions, as JSON has it.

        The address of the contract for DEPLOY and DEPLOY_ACCOUNT, the hash of the message for L1_HANDLER.
        """

def verify_starknet_block(block: bytes, state_update: bytes | None, chain_id: str) -> StarknetBlockProof:
    """Recompute a block from JSON and return what its hash proves.

    `block` is a result of `starknet_getBlockWithReceipts`, `state_update` one of `starknet_getStateUpdate`
    for the same block; without one the header's own state-diff commitment is taken, which the hash covers as
    well. `chain_id` is a name such as SN_MAIN. Up to 20,000 transactions, hashed on all cores.

    Raises:
        RefusedBlockError: A member is malformed, or is not what the block's hash demands.
    """

def starknet_diff_commitment(
    storage: bytes, class_hashes: bytes, nonces: bytes, compiled_classes: bytes, deprecated_classes: bytes
) -> bytes:
    """Return the commitment to a state diff, 32 bytes.

    Records are as `StarknetTries.apply` takes them, in any order; `deprecated_classes` are the hashes of the
    Cairo 0 classes declared.

    Raises:
        ValueError: The bytes are no whole number of records.
    """

def sierra_class_hash(
    version: str, external: bytes, l1_handler: bytes, constructor: bytes, abi: str, program: bytes
) -> bytes:
    """Return the hash of a Sierra class, 32 bytes; `version` is its `contract_class_version`.

    Entry points are records of selector and function index, in the order of the class; `abi` is the text as
    declared.

    Raises:
        ValueError: The bytes are no whole number of records.
    """

def cairo0_class_hash(
    external: bytes,
    l1_handler: bytes,
    constructor: bytes,
    builtins: list[str],
    hinted: bytes,
    bytecode: bytes,
) -> bytes:
    """Return the hash of a Cairo 0 class, 32 bytes; `hinted` is the canonical JSON of its ABI and program.

    Entry points are records of selector and offset, in the order of the class.

    Raises:
        ValueError: The bytes are no whole number of records.
    """
