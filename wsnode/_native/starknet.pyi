"""Starknet's state commitment, state-diff commitment and class hashes.

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
