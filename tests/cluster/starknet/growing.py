"""Starknet chains that do what a test draws: blocks, reorganisations, classes with definitions or without."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib.resources import files
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from hypothesis import strategies as st

from wsnode.demo.starknet_chain import StarknetBlockMaker
from wsnode.starknet.block import UnverifiedStarknetBlock
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.classes.decode import decode_class
from wsnode.starknet.classes.definition import ContractClass
from wsnode.starknet.felt import number_felt
from wsnode.starknet.importer import BlockImporter, head_of
from wsnode.starknet.roots import StateRoots
from wsnode.starknet.state_diff import StateDiff
from wsnode.starknet.storage.tables import (
    BODIES,
    CLASSES,
    DROPPED,
    EVENT_BLOOMS,
    META,
    TABLES,
    TRANSACTIONS,
)
from wsnode.store.table import scan

SYSTEM = number_felt(1)
"""A contract that needs no class."""
CLASS_COUNT = 3
_SALTS = count(1)

Rows = dict[str, list[tuple[bytes, bytes]]]
DoneTo = Callable[["GrowingStarknet"], None]


@cache
def sierra(number: int) -> ContractClass:
    """Return one of several classes, which differ in their ABI."""
    members = msgspec.json.decode((files("wsnode.demo") / "counter_sierra.json").read_bytes())
    return decode_class(msgspec.json.encode({**members, "abi": f"[{number}]"}))


@contextmanager
def new_starknet_chain() -> Iterator[StarknetChain]:
    """Yield a chain without blocks."""
    with TemporaryDirectory() as folder, StarknetChain.open(Path(folder), writer=True) as chain:
        yield chain


class GrowingStarknet:
    """A chain that grows as imports make it grow."""

    def __init__(self, chain: StarknetChain, *, chain_id: str | None = "TEST") -> None:
        self.chain = chain
        self._chain_id = chain_id

    @property
    def number(self) -> int:
        with self.chain.snapshot() as view:
            return -1 if view.head is None else view.head

    @property
    def first_hash(self) -> bytes:
        with self.chain.snapshot() as view:
            row = view.block(view.first_block)
            assert row is not None
            return row.hash

    def begin(self) -> None:
        """Add the first block, which equals that of any other chain from here."""
        self._take([StateDiff()], None)

    def extend(self, blocks: int) -> None:
        """Add blocks that no other chain has."""
        self._take([_diff() for _ in range(blocks)], None)

    def declare(self, classes: Sequence[int], *, are_found: bool) -> None:
        """Add a block that declares classes, whose definitions the import has or lacks."""
        declared = sorted((sierra(number).class_hash, number_felt(0xCA5E)) for number in set(classes))
        self._take([StateDiff(declared=declared, storage=_diff().storage)], None, knows=are_found)

    def find(self, classes: Sequence[int]) -> None:
        """Import the definitions of classes, of which some may be missing."""
        found = {sierra(number).class_hash: sierra(number) for number in classes}
        intake = BlockImporter(self.chain, found.get)
        intake.fill_missing()
        intake.close()

    def replace(self, depth: int, blocks: int) -> None:
        """Replace the last blocks by others, but never the first one."""
        after = max(0, self.number - depth)
        self._take([_diff() for _ in range(blocks)], after if after < self.number else None)

    def _take(self, diffs: Sequence[StateDiff], after: int | None, *, knows: bool = False) -> None:
        known = {sierra(number).class_hash: sierra(number) for number in range(CLASS_COUNT)} if knows else {}
        intake = BlockImporter(self.chain, known.get, after=after)
        if intake.head is None:
            intake.begin(0, self._chain_id)
        maker = maker_after(self.chain, after)
        for diff in diffs:
            intake.take(maker.make(diff))
        intake.close()


def _diff() -> StateDiff:
    return StateDiff(storage=[(SYSTEM, number_felt(1), number_felt(next(_SALTS)))])


def maker_after(chain: StarknetChain, number: int | None) -> StarknetBlockMaker:
    """Return a maker of the blocks that follow a stored block, or the head."""
    maker = StarknetBlockMaker()
    with chain.reader() as reader:
        maker._tries = StateRoots.of_head(reader, number).tries
    with chain.snapshot() as view:
        head = head_of(view, number)
    if head is not None:
        last, maker._hash, maker._root = head
        maker._number = last + 1
    return maker


def rows(chain: StarknetChain) -> Rows:
    """Return all that follows from a chain's blocks and definitions, however it came to have them.

    A journal has no transactions.
    """
    left_out = (DROPPED, META, CLASSES, BODIES, EVENT_BLOOMS, TRANSACTIONS)
    with chain.reader() as reader:
        return {table.name: list(scan(reader, table, b"")) for table in TABLES if table not in left_out}


def next_block(chain: StarknetChain) -> UnverifiedStarknetBlock:
    """Return a block that follows the head."""
    return maker_after(chain, None).make(_diff())


def doings() -> st.SearchStrategy[DoneTo]:
    """Return what can be done to an `GrowingStarknet`, as functions of it."""
    depths, blocks = st.integers(0, 3), st.integers(1, 3)
    classes = st.lists(st.integers(0, CLASS_COUNT - 1), min_size=1, max_size=CLASS_COUNT)
    return st.one_of(
        st.builds(lambda n: partial(GrowingStarknet.extend, blocks=n), blocks),
        st.builds(lambda n, m: partial(GrowingStarknet.replace, depth=n, blocks=m), depths, blocks),
        st.builds(
            lambda c, f: partial(GrowingStarknet.declare, classes=c, are_found=f), classes, st.booleans()
        ),
        st.builds(lambda c: partial(GrowingStarknet.find, classes=c), classes),
    )
