"""Blocks whose states are proved, and their stores: the first block of a fork, or those of a light folder."""

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.head import Head
from wsnode.ethereum.not_found import header_not_found, pruned_history
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import MissingStateError, UnprovedError
from wsnode.sync.proofs.state_request import Proof

Hashes = Sequence[tuple[int, bytes]]
"""Numbers of blocks with their hashes."""
Slots = Sequence[tuple[bytes, bytes]]
"""Addresses, each with one of its slots."""
MAX_CARRIED: Final = 128
"""Maximum number of blocks over which a value is carried."""
MAX_LIST_BYTES: Final = 32 << 20
"""Maximum number of bytes of the access lists by which values are carried in one step."""


class ProofBlock(msgspec.Struct, frozen=True):
    """Block after which state values are proved: number and hash, its parent's hash, and its state root."""

    head: Head
    parent_hash: Hash32
    state_root: Hash32

    @property
    def name(self) -> dict[str, str]:
        """Return the block parameter by hash, which no reorganisation gives another meaning (EIP-1898)."""
        return {"blockHash": hexadecimal(self.head.hash)}


class ProofStore(Protocol):
    """Store of state values that proofs have verified, and of the blocks they belong to;
    `ForkPointProofStore` and `LightFolderProofStore` implement it.
    """

    def head(self) -> Head | None:
        """Return the head, None if only the state of one block is ever proved."""

    def block_of(self, error: MissingStateError) -> ProofBlock:
        """Return the block of the missing state.

        Raises:
            RpcError: It is not on the chain any more.
        """

    def hashes_before(self, block: ProofBlock, numbers: Sequence[int]) -> Hashes | None:
        """Return the hashes of blocks before a block, None if some are not here."""

    def has_code(self, code_hash: bytes) -> bool:
        """Return True if the code with a hash is known."""

    def keep_proofs(self, block: ProofBlock, proofs: Sequence[Proof]) -> None:
        """Verify proofs and keep the values that they prove.

        Raises:
            WrongProofError: A proof is wrong; none is kept.
        """

    def carry(
        self, block: ProofBlock, accounts: Sequence[bytes], slots: Slots
    ) -> tuple[Sequence[bytes], Slots]:
        """Keep values that follow from earlier states and access lists; return the accounts and slots left to
        prove.
        """

    def keep_hashes(self, block: ProofBlock, hashes: Hashes) -> None:
        """Keep verified hashes of blocks before a block."""


def _block(header: bytes) -> ProofBlock:
    fields = header_fields(header)
    head = Head(BlockNumber(fields.number), Hash32(fields.hash))
    return ProofBlock(head, Hash32(fields.parent_hash), Hash32(fields.state_root))


class ForkPointProofStore:
    """Store of proved values for one state: that after the first block of a forked chain."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self.block = _block(chain.spec.genesis_block().header)

    def head(self) -> None: ...

    def block_of(self, error: MissingStateError) -> ProofBlock:
        return self.block

    def is_known(self, address: bytes) -> bool:
        try:
            self._chain.state.account(address, (self.block.head.number, self.block.head.hash))
        except MissingStateError:
            return False
        return True

    def hashes_before(self, block: ProofBlock, numbers: Sequence[int]) -> Hashes | None:
        return None

    def has_code(self, code_hash: bytes) -> bool:
        return self._chain.state.find_code(code_hash) is not None

    def keep_proofs(self, block: ProofBlock, proofs: Sequence[Proof]) -> None:
        self._chain.state.keep_proofs(proofs)

    def carry(
        self, block: ProofBlock, accounts: Sequence[bytes], slots: Slots
    ) -> tuple[Sequence[bytes], Slots]:
        """Return all accounts and slots, since there are no earlier states."""
        return accounts, slots

    def keep_hashes(self, block: ProofBlock, hashes: Hashes) -> None:
        self._chain.state.keep_hashes(hashes)


class LightFolderProofStore:
    """Store of proved values after each block of a light folder, whose headers are verified."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    def head(self) -> Head:
        return self._chain.head

    def block_of(self, error: MissingStateError) -> ProofBlock:
        """Return the block, and register its state root with the engine.

        Raises:
            RpcError: It is not on the chain any more, or below the first block.
        """
        assert error.block is not None, "each state is some block's"
        number, block_hash = error.block
        with self._chain.snapshot() as view:
            header = view.header(number)
            if number < view.earliest:
                raise pruned_history(number, view.earliest)
            if header is None or view.hash_of(number) != block_hash:
                raise header_not_found()
        block = _block(header)
        self._chain.state.note_root(number, block_hash, block.state_root)
        return block

    def hashes_before(self, block: ProofBlock, numbers: Sequence[int]) -> Hashes | None:
        """Return the hashes of blocks before a block, None if some are below the window or the block is not
        canonical.
        """
        with self._chain.snapshot() as view:
            if view.hash_of(block.head.number) != block.head.hash:
                return None
            hashes = [(number, view.hash_of(number)) for number in numbers]
        found = [(number, block_hash) for number, block_hash in hashes if block_hash is not None]
        return found if len(found) == len(hashes) else None

    def has_code(self, code_hash: bytes) -> bool:
        try:
            return self._chain.state.find_code(code_hash) is not None
        except UnprovedError:
            return False

    def keep_proofs(self, block: ProofBlock, proofs: Sequence[Proof]) -> None:
        self._chain.state.keep_proofs_of(block.state_root, proofs)

    def carry(
        self, block: ProofBlock, accounts: Sequence[bytes], slots: Slots
    ) -> tuple[Sequence[bytes], Slots]:
        """Carry values from earlier blocks by access lists.

        A known value after an earlier block is the same after the next one, unless that block's access list
        names it; then the list gives the new value (EIP-7928).
        """
        state = self._chain.state
        with self._chain.snapshot() as view:
            if view.access_list_at(block.head.number) is None:
                return accounts, slots
            roots = _roots_before(view, block)
            steps = _steps(view, block, roots[: state.known_depth(roots, accounts, slots)])
        return state.carry(block.state_root, steps, accounts, slots) if steps else (accounts, slots)

    def keep_hashes(self, block: ProofBlock, hashes: Hashes) -> None:
        self._chain.state.keep_hashes_of(block.head.hash, hashes)


def _roots_before(view: Snapshot, block: ProofBlock) -> list[bytes]:
    """Return the state roots of the blocks below a canonical one, newest first; none of any other block."""
    if view.hash_of(block.head.number) != block.head.hash:
        return []
    lowest = max(block.head.number - MAX_CARRIED, view.earliest)
    headers = (view.header(number) for number in range(block.head.number - 1, lowest - 1, -1))
    return [header_fields(header).state_root for header in headers if header is not None]


def _steps(view: Snapshot, block: ProofBlock, roots: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
    """Return pairs of an access list and the root before it, newest first, as far as lists are kept."""
    steps: list[tuple[bytes, bytes]] = []
    size = 0
    for place, root in enumerate(roots):
        access_list = view.access_list_at(block.head.number - place)
        size += len(access_list or b"")
        if access_list is None or size > MAX_LIST_BYTES:
            break
        steps.append((access_list, root))
    return steps
