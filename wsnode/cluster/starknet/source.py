"""Source of a journal: the Starknet chain that is published."""

from collections.abc import Iterator
from contextlib import contextmanager

from wsnode.cluster.journal import UnrelatedJournalError
from wsnode.cluster.journal_diff import JournalStep
from wsnode.cluster.records import ChainState
from wsnode.cluster.starknet.chain_states import first_hash, standing_of
from wsnode.cluster.starknet.journal_diff import first_standing, next_steps
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.live.branches import UnknownStarknetBlockError, position_at
from wsnode.starknet.snapshot import StarknetSnapshot


class StarknetSource:
    """Starknet chain to publish, which another process may write; implements `ChainSource`."""

    what = "Starknet blocks"
    is_sole = False
    genesis = None

    def __init__(self, chain: StarknetChain) -> None:
        self._chain = chain

    @property
    def has_begun(self) -> bool:
        """Return True if there is a first block; without it there is no journal."""
        with self._chain.snapshot() as view:
            return view.head is not None

    @property
    def first_hash(self) -> Hash32:
        """Return the hash of the chain's first block, by which its journal is named."""
        with self._chain.snapshot() as view:
            found = first_hash(view)
            assert found is not None, "a chain that is published has a first block"
            return found

    @property
    def version(self) -> int:
        """Return the version of the store; each commit changes it."""
        return self._chain.version

    @property
    def head(self) -> Head:
        """Return the head, block -1 of an empty chain."""
        with self._chain.snapshot() as view:
            return standing_of(view).head

    def knows(self, head: Head) -> bool:
        """Return True if a block is on the chain, or was."""
        with self._chain.snapshot() as view:
            return view.number_of(head.hash) is not None or view.dropped(head.hash) is not None

    def first_block(self) -> Head:
        """Return the first stored block."""
        with self._chain.snapshot() as view:
            return Head.of(position_at(view, view.first_block))

    @contextmanager
    def look(self) -> Iterator["StarknetStepSource"]:
        """Yield a reader of the chain as it is now."""
        with self._chain.snapshot() as view:
            yield StarknetStepSource(view)


class StarknetStepSource:
    """Reader of a Starknet chain at one moment; implements `JournalStepSource`."""

    def __init__(self, view: StarknetSnapshot) -> None:
        self._view = view

    @property
    def version(self) -> int:
        """Return the version of the store."""
        return self._view.version

    def first_standing(self, most: int) -> ChainState:
        """Return the state with which an empty journal begins: at most `most` blocks below the head."""
        return first_standing(self._view, most)

    def next_steps(self, known: ChainState, known_head: Head | None) -> list[JournalStep]:
        """Return the first steps from a known state to this moment; see `next_steps`.

        Raises:
            UnrelatedJournalError: The block is not stored.
        """
        try:
            return next_steps(self._view, known, known_head)
        except UnknownStarknetBlockError:
            raise UnrelatedJournalError(known_head or known.head) from None
