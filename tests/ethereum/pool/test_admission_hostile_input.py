"""Whatever bytes come: they are refused in words or taken, and the pool stays sound."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.ethereum.pool import invariants
from tests.ethereum.pool.playground import Playground
from tests.ethereum.pool.steps import steps
from tests.slices import text_of
from wsnode.ethereum.pool.errors import PoolError
from wsnode.ethereum.rpc.transactions.pool_methods import PoolMethods

SMALL = 1000
WHOLE = [step.encoded for step in steps() if 1 < len(step.encoded) < SMALL]


@pytest.fixture(scope="module")
def playground() -> Iterator[Playground]:
    with tempfile.TemporaryDirectory() as folder:
        made = Playground(Path(folder))
        yield made
        made.close()


@st.composite
def broken(draw: st.DrawFn) -> bytes:
    """Draw a transaction of which some bytes are changed, lost or added."""
    encoded = bytearray(draw(st.sampled_from(WHOLE)))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(encoded)))
        encoded[place : place + draw(st.integers(0, 2))] = draw(st.binary(max_size=3))
    return bytes(encoded)


def refusal_of(playground: Playground, encoded: bytes) -> PoolError | None:
    try:
        playground.pool.add(encoded)
    except PoolError as error:
        return error
    return None


@given(st.one_of(broken(), st.binary(max_size=80)))
@settings(max_examples=examples(200))
def test_nothing_but_refusals_comes_of_broken_transactions(playground: Playground, encoded: bytes) -> None:
    refusal = refusal_of(playground, encoded)
    assert refusal is None or (str(refusal) and str(refusal).isprintable())
    invariants.check(playground)
    methods = PoolMethods(playground.pool, ())
    for text in (text_of(methods.content()), text_of(methods.inspect()), methods.status()):
        assert text.startswith(b'{"pending":')
