"""Importer of blocks from a source: they are verified one by one, and committed in batches."""

from collections.abc import Callable

from wsnode.starknet.block import UnverifiedStarknetBlock, VerifiedStarknetBlock
from wsnode.starknet.chain import KNOWN_CHAINS, StarknetChain
from wsnode.starknet.classes.definition import ContractClass
from wsnode.starknet.errors import BlockDumpError, InvalidStarknetBlockError
from wsnode.starknet.felt import felt_text
from wsnode.starknet.roots import StateRoots
from wsnode.starknet.snapshot import StarknetSnapshot
from wsnode.starknet.verification import Head, is_provable, verify

BATCH_BLOCKS = 256
BATCH_CHANGES = 100_000
BYTES_A_CHANGE = 256
"""Bytes of transactions and receipts that count as a change of the state."""

FindClass = Callable[[bytes], ContractClass | None]


class BlockImporter:
    """Importer of blocks after the head: it verifies each and commits them in batches; `flush` commits the
    blocks taken since the last batch.
    """

    def __init__(
        self,
        chain: StarknetChain,
        find_class: FindClass,
        *,
        verify_roots: bool = True,
        after: int | None = None,
    ) -> None:
        """Import blocks after the head or, with `after`, after that stored block.

        In the second case the new blocks replace those above it at their first commit.
        """
        self._chain = chain
        self._after = after
        self._find_class = find_class
        self._snapshot = chain.snapshot()
        self._blocks: list[VerifiedStarknetBlock] = []
        self._classes: dict[bytes, ContractClass | None] = {}
        self._deployed: set[bytes] = set()
        self._changes = 0
        self._chain_id = self._snapshot.chain_id
        self.unproved: int = 0
        """Number of blocks taken whose transactions and receipts could not be verified."""
        self.head = head_of(self._snapshot, after)
        self._roots = self._state_roots() if verify_roots else None

    def begin(self, first_block: int, chain_id: str | None) -> None:
        """Set the beginning of an empty chain; check it for any other.

        Raises:
            BlockDumpError: Its history begins elsewhere, or it belongs to another network.
        """
        if self.head is None:
            self._chain.begin(first_block, chain_id)
            self._renew_snapshot()
            self._chain_id = self._snapshot.chain_id
            if first_block > 0:
                self._roots = None
        elif first_block not in (0, self._snapshot.first_block):
            raise BlockDumpError(
                f"the stored history begins at block {self._snapshot.first_block}, not {first_block}"
            )

    @property
    def next_number(self) -> int:
        return self._snapshot.first_block if self.head is None else self.head[0] + 1

    @property
    def checks_roots(self) -> bool:
        """Return True if every block's state root is recomputed."""
        return self._roots is not None

    def check_stored(self, number: int, block_hash: bytes) -> None:
        """Check that the stored block `number` has this hash.

        Raises:
            InvalidStarknetBlockError: The stored block has another hash.
        """
        row = self._snapshot.block(number)
        if row is not None and row.hash != block_hash:
            raise InvalidStarknetBlockError(
                number, block_hash, "block_hash", f"{felt_text(row.hash)}, as stored", felt_text(block_hash)
            )

    def take(self, block: UnverifiedStarknetBlock) -> None:
        """Verify `block`, look up its classes, and commit if the batch is large enough.

        Raises:
            InvalidStarknetBlockError: The block violates a rule; those before it stay and wait for `flush`.
        """
        if block.number == 0:
            self._chain_id = KNOWN_CHAINS.get(block.hash, self._chain_id)
        verified = verify(block, self.head, self._roots, self._is_deployed, self._chain_id)
        self.unproved += block.body is not None and not is_provable(block, self._chain_id)
        self._blocks.append(verified)
        self.head = (verified.number, verified.hash, verified.new_root)
        self._deployed.update(address for address, _ in verified.diff.deployed)
        self._changes += len(verified.diff.storage) + 1 + len(verified.body or b"") // BYTES_A_CHANGE
        for class_hash in verified.diff.named_classes():
            self._seek(class_hash)
        if len(self._blocks) >= BATCH_BLOCKS or self._changes >= BATCH_CHANGES:
            self.flush()

    def fill_missing(self) -> int:
        """Look up the class definitions that are missing in the store, and return the number found."""
        for class_hash, _ in self._snapshot.missing_classes():
            self._seek(class_hash)
        found = sum(found is not None for found in self._classes.values())
        self.flush()
        return found

    def flush(self) -> None:
        """Commit the blocks taken since the last commit."""
        classes = [found for found in self._classes.values() if found is not None]
        if self._blocks or classes:
            self._chain.append(self._blocks, classes, after=self._after if self._blocks else None)
            if self._blocks:
                self._after = None
        self._blocks, self._classes, self._changes = [], {}, 0
        self._deployed.clear()
        self._renew_snapshot()

    def close(self) -> None:
        """Commit the blocks taken since the last commit, and close the snapshot."""
        self.flush()
        self.give_up()

    def give_up(self) -> None:
        """Close the snapshot; blocks taken since the last commit are not stored."""
        self._snapshot.__exit__(None, None, None)

    def _seek(self, class_hash: bytes) -> None:
        if class_hash not in self._classes and not self._snapshot.has_class(class_hash):
            self._classes[class_hash] = self._find_class(class_hash)

    def _is_deployed(self, address: bytes) -> bool:
        if address in self._deployed:
            return True
        return self._snapshot.was_deployed_here(address, self._after)

    def _state_roots(self) -> StateRoots | None:
        if self._snapshot.first_block > 0:
            return None
        with self._chain.reader() as reader:
            return StateRoots.of_head(reader, self._after)

    def _renew_snapshot(self) -> None:
        self._snapshot.__exit__(None, None, None)
        self._snapshot = self._chain.snapshot()


def head_of(snapshot: StarknetSnapshot, number: int | None = None) -> Head | None:
    """Return number, hash and state root of block `number`, or of the head; None if it is not stored."""
    number = snapshot.head if number is None else number
    row = None if number is None else snapshot.block(number)
    return None if number is None or row is None else (number, row.hash, row.new_root)
