"""State tries of Starknet and their proofs, state-diff commitments, class hashes, and verification of blocks.

Field elements are 32 bytes, big-endian, packed one after another into records. All functions release the
interpreter's lock while they hash.
"""

from typing import final

@final
class StarknetTries:
    """Tries of a whole Starknet state in memory, empty at first.

    Only one thread may use them: a call during another call raises RuntimeError.
    """

    def __new__(cls) -> StarknetTries: ...
    def apply(self, storage: bytes, class_hashes: bytes, nonces: bytes, compiled_classes: bytes) -> None:
        """Write a block's changes to the tries, hashing contracts on all cores.

        `storage` has records of address, key and value; `class_hashes` of address and class hash; `nonces` of
        address and nonce; `compiled_classes` of class hash and compiled class hash. A value of 0 removes the
        leaf. The reverse changes, which undo a block, have the same form.

        Raises:
            ValueError: The bytes are no whole number of records; nothing was changed.
        """

    def root(self, always_joined: bool) -> bytes:
        """Return the global state root, 32 bytes.

        `always_joined` is true since Starknet 0.14. Before it, with an empty class trie, the root of the
        contract trie is the global root itself.
        """

    def prove(
        self, class_hashes: bytes, contracts: bytes, storage: list[tuple[bytes, bytes]], block_hash: bytes
    ) -> bytes:
        """Return the result of `starknet_getStorageProof` for the current state, as JSON.

        `storage` has the address of each contract and the packed keys of its slots. `block_hash` is the hash
        of the block with this state. The leaf of a contract absent from the state is null.

        Raises:
            ValueError: The bytes are no whole number of field elements.
        """

class RefusedProofError(Exception):
    """A storage proof is malformed, or does not prove its values from the state root.

    `rule` names the broken rule: malformed, too_many_keys, key_out_of_range, too_many_bytes, too_many_items,
    other_value, missing_node, wrong_edge, several_roots or unknown_storage_root. The message has the member
    and the values.
    """

    rule: str

@final
class StarknetProvedState:
    """Values of contracts and classes proved by a state root, in the order of the request."""

    @property
    def class_leaves(self) -> list[bytes | None]:
        """Leaf of each class, a hash of its compiled class hash; None if it is not declared."""

    @property
    def contracts(self) -> list[tuple[bytes, bytes, bytes, list[bytes]] | None]:
        """Class hash, nonce, storage root and slot values of each contract; None if not in the state."""

def verify_starknet_proof(
    proof: bytes,
    block_hash: bytes,
    state_root: bytes,
    class_hashes: bytes,
    contracts: list[tuple[bytes, bytes]],
) -> StarknetProvedState:
    """Verify a result of `starknet_getStorageProof` by the state root of a block; return the proved values.

    `contracts` has the requested addresses in their order, each with the packed keys of its slots, or with
    empty bytes. Storage proofs may come in any order. At most 100 keys, contracts and classes included, and
    16 MiB are accepted.

    Raises:
        RefusedProofError: The proof is malformed or false, or the keys are too many or too large.
        ValueError: The bytes are no field elements.
    """

class RefusedBlockError(Exception):
    """A block is malformed, or its members do not give its hash.

    `member` is the path of the member at fault, as in `transactions[3].receipt.transaction_hash`, or the
    commitment that covers it. `expected` is the value computed from the rest of the block; `actual` is the
    value sent, or the fault of its form.
    """

    member: str
    expected: str
    actual: str

@final
class StarknetBlockProof:
    """Values of a verified block that its hash proves, `old_root` excepted.

    Hashes, roots and commitments have 32 bytes.
    """

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
        """State root before the block, as in the state update, unproved: only the parent's hash covers it.

        None without a state update.
        """

    @property
    def formula(self) -> str:
        """First protocol version with the hash formula of this block: 0.0.0, 0.7.0, 0.13.2 or 0.13.4."""

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
        """Commitment to the receipts; None before 0.13.2, as are commitment and length of the state diff."""

    @property
    def state_diff_commitment(self) -> bytes | None: ...
    @property
    def state_diff_length(self) -> int | None: ...
    @property
    def transaction_hashes(self) -> list[bytes]: ...
    @property
    def derived(self) -> list[str | None]:
        """Member of each receipt that follows from its transaction, in hexadecimal, or None.

        It is the address of the contract for DEPLOY and DEPLOY_ACCOUNT, and the hash of the message for
        L1_HANDLER.
        """

def verify_starknet_block(
    block: bytes, state_update: bytes | None, chain_id: str, *, is_sealed: bool = True
) -> StarknetBlockProof:
    """Verify a block in JSON against its own hash, and return the proved values.

    `block` is a result of `starknet_getBlockWithReceipts`, `state_update` one of `starknet_getStateUpdate`
    for the same block. Without a state update the header's own state-diff commitment is used: the block hash
    covers it as well. `chain_id` is a name such as SN_MAIN. A block has up to 20,000 transactions, hashed on
    all cores. A block that is not sealed is not compared with its own hash, so transaction hashes and the
    members derived from transactions alone are proved.

    Raises:
        RefusedBlockError: A member is malformed, or the members do not give the block's hash.
    """

def starknet_diff_commitment(
    storage: bytes, class_hashes: bytes, nonces: bytes, compiled_classes: bytes, deprecated_classes: bytes
) -> bytes:
    """Return the commitment to a state diff, 32 bytes.

    Records have the form of `StarknetTries.apply`, in any order; `deprecated_classes` has the hashes of the
    declared Cairo 0 classes.

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
