"""Source of a journal: the chain of the eth family that is published."""

from collections.abc import Iterator
from contextlib import contextmanager

from wsnode.cluster.journal_diff import ChainOrigin, JournalStep, first_standing, next_steps
from wsnode.cluster.records import ChainState
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ChainSpec


class EthereumSource:
    """Chain of the eth family to publish.

    With `is_development`, no other process makes the chain, so it is published even where it has moved back.
    """

    def __init__(self, chain: Chain, *, is_development: bool) -> None:
        self.chain = chain
        self.is_sole = is_development
        self.genesis = chain.folder.read_genesis()
        self._origin = ChainOrigin(ChainSpec(self.genesis).chain_id, is_development)

    @property
    def first_hash(self) -> Hash32:
        """Return the hash of the chain's first block, by which its journal is named."""
        return Hash32(self.chain.spec.genesis_hash)

    @property
    def version(self) -> int:
        return self.chain.version

    @property
    def head(self) -> Head:
        return self.chain.head

    def knows(self, head: Head) -> bool:
        """Return True if a block is stored, on the chain or beside it."""
        with self.chain.snapshot() as view:
            return view.number_of(head.hash) is not None or view.side_header(head.hash) is not None

    def first_block(self) -> Head:
        with self.chain.snapshot() as view:
            first = view.hash_of(view.earliest)
            assert first is not None, "the first block is stored"
            return Head(view.earliest, first)

    @contextmanager
    def look(self) -> Iterator["EthereumStepSource"]:
        with self.chain.snapshot() as view:
            yield EthereumStepSource(view, self._origin)


class EthereumStepSource:
    """Reader of a chain at one moment: gives the steps that its journal does not have yet."""

    def __init__(self, view: Snapshot, origin: ChainOrigin) -> None:
        self._view = view
        self._origin = origin

    @property
    def version(self) -> int:
        return self._view.version

    def first_standing(self, most: int) -> ChainState:
        """Return the state with which an empty journal begins: at most `most` blocks below the head."""
        return first_standing(self._view, self._origin, most)

    def next_steps(self, known: ChainState, known_head: Head | None) -> list[JournalStep]:
        """Return the first steps from a state of the chain to this moment; see `next_steps`.

        Raises:
            UnknownPositionError: The block is not stored.
        """
        return next_steps(self._view, self._origin, known, known_head)
