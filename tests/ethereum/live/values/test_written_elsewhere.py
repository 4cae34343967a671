"""`state` and `calls` of a worker: another process writes the chain, and may write on at any moment."""

from collections.abc import Iterator
from typing import Any

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.ethereum.live.values import test_calls, test_state
from tests.ethereum.live.values.test_state import growth, patching
from tests.ethereum.live.written_elsewhere import WrittenElsewhere, written_elsewhere
from tests.live.steps import common_steps

pytestmark = pytest.mark.slow

slow_or_not = pytest.mark.parametrize("pauses", [False, True], ids=["reads", "reads slowly"])
of_the_chain = settings(
    max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WrittenElsewhere]:
    folder = tmp_path_factory.mktemp("written")
    with written_elsewhere(folder, test_calls.called_genesis()) as found:
        yield found


@slow_or_not
@of_the_chain
@given(script=st.lists(growth | common_steps, max_size=12))
def test_a_client_holds_the_outcomes_at_each_block_that_it_is_told(
    written: WrittenElsewhere, pauses: bool, script: list[Any]
) -> None:
    written.clear()
    trio.run(lambda: test_calls.run(written, script, pauses=pauses, checks=True))


@of_the_chain
@given(script=st.lists(patching, max_size=12))
def test_a_client_holds_the_outcomes_of_a_patched_head(written: WrittenElsewhere, script: list[Any]) -> None:
    written.clear()
    trio.run(lambda: test_calls.run(written, script, pauses=False, checks=False))


@slow_or_not
@of_the_chain
@given(script=st.lists(growth | common_steps, max_size=14) | st.lists(patching, max_size=14))
def test_a_client_holds_the_values_of_the_head(
    written: WrittenElsewhere, pauses: bool, script: list[Any]
) -> None:
    written.clear()
    trio.run(lambda: test_state.run(written, script, pauses=pauses))
