"""The alt chain that a journal is written from."""

from collections.abc import Iterator
from contextlib import contextmanager

from wsnode.cluster.alt.standings import first_hash, standing_of
from wsnode.cluster.alt.steps import first_standing, next_steps
from wsnode.cluster.journal import UnrelatedJournalError
from wsnode.cluster.records import Standing
from wsnode.cluster.steps import Step
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32
from wsnode.starknet.chain import Chain
from wsnode.starknet.live.branches import UnknownBlockError, position_at
from wsnode.starknet.snapshot import Snapshot


class AltSource:
    """A chain of the alt family, of which this process may be a reader; implements `Source` of a tenure."""

    what = "alt blocks"
    is_sole = False
    genesis = None

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    @property
    def has_begun(self) -> bool:
        """Return whether there is a first block, without which there is no journal."""
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
        """Return the version of the store, another one after each commit."""
        return self._chain.version

    @property
    def head(self) -> Head:
        """Return the head, block -1 of an empty chain."""
        with self._chain.snapshot() as view:
            return standing_of(view).head

    def knows(self, head: Head) -> bool:
        """Return whether a block is on the chain, or was."""
        with self._chain.snapshot() as view:
            return view.number_of(head.hash) is not None or view.dropped(head.hash) is not None

    def first_block(self) -> Head:
        """Return the first block that is stored."""
        with self._chain.snapshot() as view:
            return Head.of(position_at(view, view.first_block))

    @contextmanager
    def look(self) -> Iterator["AltMoment"]:
        """Yield the chain as it is now."""
        with self._chain.snapshot() as view:
            yield AltMoment(view)


class AltMoment:
    """An alt chain at one moment; implements `Moment`."""

    def __init__(self, view: Snapshot) -> None:
        self._view = view

    @property
    def version(self) -> int:
        """Return the version of the store."""
        return self._view.version

    def first_standing(self, most: int) -> Standing:
        """Return the standing with which an empty journal begins: up to `most` blocks below the head."""
        return first_standing(self._view, most)

    def next_steps(self, known: Standing, known_head: Head | None) -> list[Step]:
        """Return the first steps from a standing to this moment; see `next_steps`.

        Raises:
            UnrelatedJournalError: The block is not stored.
        """
        try:
            return next_steps(self._view, known, known_head)
        except UnknownBlockError:
            raise UnrelatedJournalError(known_head or known.head) from None
