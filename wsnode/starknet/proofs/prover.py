"""Storage proofs of recent blocks, out of the tries of a state that is kept in memory."""

from collections.abc import Iterable
from threading import Lock
from typing import Final

from wsnode.starknet.block import StateDiff
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.diff_json import decode_flat, state_diff
from wsnode.starknet.felt import ZERO
from wsnode.starknet.followed import ProofRequest
from wsnode.starknet.roots import StateRoots, StateTooLargeError
from wsnode.starknet.snapshot import StarknetSnapshot

PROVED_BLOCKS: Final = 128
"""Number of blocks below the head whose state can be proved."""
MAX_VALUES: Final = 500_000
"""Slots, classes and nonces of a state that is proved: its tries take about 185 MB, and a minute to hash."""
_MAX_STEPS: Final = 1024
"""Maximum number of blocks whose changes are applied to the tries; beyond it they are built again."""


class StateProofError(Exception):
    """Error of a storage proof that cannot be made from the stored values."""


class StateProver:
    """Prover of one block's state, with its tries in memory; a request for another block moves them to that
    block. They are built at the first request, in its thread.
    """

    def __init__(self, chain: StarknetChain) -> None:
        self._chain = chain
        self._lock = Lock()
        self._roots: StateRoots | None = None
        self._block: tuple[int, bytes] = (-1, b"")
        """Number and hash of the block whose state the tries are of."""
        self._refusal: str | None = None

    def prove(self, number: int, block_hash: bytes, asked: ProofRequest) -> bytes | None:
        """Return the result of getStorageProof for a block, None if it has left the chain.

        Runs for seconds where the tries are built; called in a worker thread.

        Raises:
            StateProofError: The state is too large, or does not give the block's root.
        """
        with self._lock, self._chain.snapshot() as view:
            row = view.block(number)
            if row is None or row.hash != block_hash:
                return None
            if self._refusal is not None:
                raise StateProofError(self._refusal)
            roots = self._at(view, number, block_hash)
            if row.new_root not in (roots.root(always_joined=True), roots.root()):
                self._roots = None
                raise StateProofError(
                    "this node's stored state does not give the block's state root: ask another node"
                )
            return roots.tries.prove(
                b"".join(asked.class_hashes),
                b"".join(asked.contracts),
                [(address, b"".join(keys)) for address, keys in asked.storage],
                block_hash,
            )

    def _at(self, view: StarknetSnapshot, number: int, block_hash: bytes) -> StateRoots:
        """Return the tries of the state after a stored block."""
        roots, (known, known_hash) = self._roots, self._block
        self._roots = None
        if roots is None or view.number_of(known_hash) != known or abs(number - known) > _MAX_STEPS:
            roots = self._built(number)
        elif number != known:
            diffs = _diffs(view, min(number, known) + 1, max(number, known))
            roots.tries.apply(*_values(view, diffs, number).packed())
        self._roots, self._block = roots, (number, block_hash)
        return roots

    def _built(self, number: int) -> StateRoots:
        try:
            with self._chain.reader() as reader:
                return StateRoots.of_head(reader, number, most=MAX_VALUES)
        except StateTooLargeError as error:
            self._refusal = str(error)
            raise StateProofError(self._refusal) from None


def _diffs(view: StarknetSnapshot, first: int, last: int) -> Iterable[StateDiff]:
    for number in range(first, last + 1):
        if (text := view.diff_text(number)) is not None:
            yield state_diff(decode_flat(text))


def _values(view: StarknetSnapshot, diffs: Iterable[StateDiff], number: int) -> StateDiff:
    """Return the values of the diffs' slots, classes and nonces after block `number`; zero if absent."""
    slots: set[tuple[bytes, bytes]] = set()
    addresses: set[bytes] = set()
    nonces: set[bytes] = set()
    classes: set[bytes] = set()
    for diff in diffs:
        slots.update((address, key) for address, key, _ in diff.storage)
        addresses.update(address for address, _ in (*diff.deployed, *diff.replaced))
        nonces.update(address for address, _ in diff.nonces)
        classes.update(class_hash for class_hash, _ in (*diff.declared, *diff.migrated))
    return StateDiff(
        storage=[(address, key, _slot(view, address, key, number)) for address, key in slots],
        deployed=[(address, view.class_hash_at(address, number) or ZERO) for address in addresses],
        nonces=[(address, view.nonce_at(address, number) or ZERO) for address in nonces],
        declared=[(class_hash, view.compiled_at(class_hash, number) or ZERO) for class_hash in classes],
    )


def _slot(view: StarknetSnapshot, address: bytes, key: bytes, number: int) -> bytes:
    written = view.storage_at(address, key, number)
    return ZERO if written is None else written[0]
