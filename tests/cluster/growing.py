"""Development chains that do whatever a test draws: blocks, reorganisations, patches, other ids."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import strategies as st

from tests.sync.forks import genesis
from wsnode.ethereum.building.next_block import NextBlockAttributes
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.storage import state_patches

NOBODY = bytes(20)
DEEPEST = 4
_SALTS = count(1)


@contextmanager
def new_chain(*, is_marked: bool = True) -> Iterator[Chain]:
    """Yield a chain with nothing but its genesis block, which equals that of any other one from here.

    A marked one has that as its safe and final block.
    """
    with TemporaryDirectory() as folder:
        text = genesis(merged=True)
        with Chain.open(Path(folder), text, writer=True, durable=False) as chain:
            if is_marked:
                chain.mark_final(chain.head)
            yield chain


class Growing:
    """A chain that is changed as one would by the methods of a development chain."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self._builder = BlockBuilder(chain)

    def extend(self, blocks: int, *, base_fee: int | None = None, gas_limit: int | None = None) -> None:
        """Add blocks that no other chain has."""
        for _ in range(blocks):
            tip = self._builder.tip
            following = NextBlockAttributes(
                timestamp=tip.timestamp + 12,
                gas_limit=gas_limit or tip.gas_limit,
                prev_randao=next(_SALTS).to_bytes(32, "big"),
                base_fee=base_fee,
            )
            self._builder.append_next(following, [], fee_recipient=NOBODY)

    def unwind(self, depth: int) -> None:
        """Take blocks off, as many as there are."""
        self._builder.unwind(max(0, self.chain.head.number - depth))

    def replace(self, depth: int, blocks: int) -> None:
        """Replace the last blocks by others."""
        self.unwind(depth)
        self.extend(blocks)

    def patch(self, account: int, balance: int) -> None:
        """Change an account, perhaps to what it was."""
        self._builder.patch(json.dumps({f"0x{account:040x}": {"balance": hex(balance)}}).encode())

    def undo(self, place: int) -> None:
        """Undo patches of the head, up to any of its states."""
        with self.chain.snapshot() as view:
            roots = [patch.state_root for patch in state_patches.patches(view.reader, view.number)]
        if roots:
            self._builder.unwind(self.chain.head.number, roots[place % len(roots)])

    def set_chain_id(self, chain_id: int) -> None:
        """Have the blocks to come be of another id."""
        self._builder.set_chain_id(chain_id)


DoneTo = partial[None]
"""Something done to a chain."""


def doings() -> st.SearchStrategy[DoneTo]:
    """Return what can be done to a `Growing`, as functions of it."""
    depths, blocks, accounts = st.integers(0, DEEPEST), st.integers(1, 3), st.integers(4096, 4097)
    return st.one_of(
        st.builds(lambda n: partial(Growing.extend, blocks=n), blocks),
        st.builds(lambda fee: partial(Growing.extend, blocks=1, base_fee=fee), st.integers(7, 10**9)),
        st.just(partial(Growing.extend, blocks=1, gas_limit=10_000_000)),
        st.builds(lambda n: partial(Growing.unwind, depth=n), depths),
        st.builds(lambda n, m: partial(Growing.replace, depth=n, blocks=m), depths, blocks),
        st.builds(lambda n, b: partial(Growing.patch, account=n, balance=b), accounts, st.integers(0, 2)),
        st.builds(lambda n: partial(Growing.undo, place=n), st.integers(0, 3)),
        st.builds(lambda n: partial(Growing.set_chain_id, chain_id=n), st.integers(1, 3)),
    )
