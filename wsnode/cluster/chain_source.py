"""The chain that a journal is written from."""

from collections.abc import Iterator
from contextlib import contextmanager

from wsnode.cluster.journal_diff import ChainIdentity, JournalStep, first_standing, next_steps
from wsnode.cluster.records import ChainState
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ChainSpec


class EthereumSource:
    """A chain of the eth family; implements `Source` of a tenure."""

    what = "blocks"
    has_begun = True

    def __init__(self, chain: Chain, *, is_development: bool) -> None:
        """With `is_development`, no other process has the chain: it is published even where it went back."""
        self.chain = chain
        self.is_sole = is_development
        self.genesis = chain.folder.read_genesis()
        self._origin = ChainIdentity(ChainSpec(self.genesis).chain_id, is_development)

    @property
    def first_hash(self) -> Hash32:
        """Return the hash of the chain's first block, by which its journal is named."""
        return Hash32(self.chain.spec.genesis_hash)

    @property
    def version(self) -> int:
        """Return the version of the store, another one after each commit."""
        return self.chain.version

    @property
    def head(self) -> Head:
        """Return the head."""
        return self.chain.head

    def knows(self, head: Head) -> bool:
        """Return whether a block is stored, on the chain or beside it."""
        with self.chain.snapshot() as view:
            return view.number_of(head.hash) is not None or view.side_header(head.hash) is not None

    def first_block(self) -> Head:
        """Return the first block that is stored."""
        with self.chain.snapshot() as view:
            first = view.hash_of(view.earliest)
            assert first is not None, "the first block is stored"
            return Head(view.earliest, first)

    @contextmanager
    def look(self) -> Iterator["EthereumStepReader"]:
        """Yield the chain as it is now."""
        with self.chain.snapshot() as view:
            yield EthereumStepReader(view, self._origin)


class EthereumStepReader:
    """A chain at one moment; implements `ChainSnapshot`."""

    def __init__(self, view: Snapshot, origin: ChainIdentity) -> None:
        self._view = view
        self._origin = origin

    @property
    def version(self) -> int:
        """Return the version of the store."""
        return self._view.version

    def first_standing(self, most: int) -> ChainState:
        """Return the standing with which an empty journal begins: up to `most` blocks below the head."""
        return first_standing(self._view, self._origin, most)

    def next_steps(self, known: ChainState, known_head: Head | None) -> list[JournalStep]:
        """Return the first steps from a standing to this moment; see `next_steps`.

        Raises:
            UnknownPositionError: The block is not stored.
        """
        return next_steps(self._view, self._origin, known, known_head)
