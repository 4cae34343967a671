"""Every case of execution-apis whose method is registered, and geth's answers to malformed ones."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.cases import Transport, disagreement, split
from tests.memory_transport import Client, memory_transport
from tests.vector_files import find_vectors
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.verify.cases import Case, read_cases

TRANSPORTS: dict[str, Callable[[Dispatcher], Transport]] = {
    "memory": lambda dispatcher: memory_transport(dispatcher, Client()),
}
FOLDER = find_vectors("execution-apis/tests")
CASES = read_cases(FOLDER) if FOLDER else []
EDGE_CASES = [edge for case in read_cases(Path(__file__).parent / "edge_cases") for edge in split(case)]


@pytest.fixture(scope="session", params=TRANSPORTS)
def transport(request: pytest.FixtureRequest, dispatcher: Dispatcher) -> Transport:
    return TRANSPORTS[request.param](dispatcher)


def require_methods(case: Case, dispatcher: Dispatcher) -> None:
    if missing := case.methods - dispatcher.registry.methods.keys():
        pytest.skip(f"no method {', '.join(sorted(missing))}")


@pytest.mark.skipif(not CASES, reason="no vectors `execution-apis/tests`")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_is_answered_as_expected(case: Case, dispatcher: Dispatcher, transport: Transport) -> None:
    require_methods(case, dispatcher)
    assert disagreement(case, transport) is None


@pytest.mark.parametrize("case", EDGE_CASES, ids=lambda case: case.name)
def test_an_edge_case_is_answered_as_geth_answers_it(
    case: Case, dispatcher: Dispatcher, transport: Transport
) -> None:
    require_methods(case, dispatcher)
    assert disagreement(case, transport) is None
