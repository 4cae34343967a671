"""Every case of execution-apis before a light folder: the reply of a full one, or the documented error."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.conformance.cases import disagreement
from tests.conformance.test_execution_apis import CASES
from tests.memory_transport import Client, memory_transport
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import BuiltBlock, block_from_rows, verify_with_receipts
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.rpc.common.light_view import LightView
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.verify.cases import Case

pytestmark = pytest.mark.skipif(not CASES, reason="no vectors `execution-apis/tests`")

NEED_STATE = {
    "debug_traceBlockByHash",
    "debug_traceBlockByNumber",
    "debug_traceTransaction",
    "eth_call",
    "eth_createAccessList",
    "eth_estimateGas",
    "eth_getBalance",
    "eth_getCode",
    "eth_getProof",
    "eth_getStorageAt",
    "eth_getStorageValues",
    "eth_getTransactionCount",
    "eth_simulateV1",
}
"""Listed in docs/reference/light.md."""
PAGE = Path(__file__).parents[2] / "docs/reference/light.md"
ELSEWHERE = {"eth_sendRawTransaction", "testing_buildBlockV1", "txpool_content"}
"""A pool and a builder need state too; without them these are other methods, or none."""
OF_ALL_BLOCKS = {"eth_capabilities"}


def told(source: Chain, number: int) -> BuiltBlock:
    with source.snapshot() as view:
        header, body, receipts = view.header(number), view.body(number), view.receipts(number)
    assert header is not None
    assert body is not None
    assert receipts is not None
    block = verify_with_receipts(source.spec, block_from_rows(source.spec, header, body), receipts)
    assert isinstance(block, BuiltBlock), str(block)
    return block


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory, execution_apis_chain: Chain) -> Iterator[Dispatcher]:
    """Return the methods of a light folder that has all blocks and follows nothing."""
    source = execution_apis_chain
    folder, genesis = tmp_path_factory.mktemp("light"), source.folder.read_genesis()
    with Chain.open(
        folder, genesis, writer=True, durable=False, kind=FolderKind(1_000, is_light=True)
    ) as chain:
        head = source.head.number
        with source.snapshot() as view:
            chain.begin_at(told(source, head), view.total_difficulty(head - 1))
        chain.prepend([told(source, number) for number in range(head - 1, 0, -1)])
        chain.prepend_genesis()
        yield Dispatcher(build_registry(chain, hub=Hub(chain)), partial(LightView, chain))


def refusals(case: Case, dispatcher: Dispatcher) -> list[dict[str, object]]:
    """Return the errors that a case gets."""
    transport = memory_transport(dispatcher, Client())
    replies = [json.loads(transport(exchange.request) or "{}") for exchange in case.exchanges]
    return [reply["error"] for reply in replies if "error" in reply]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_is_answered_as_by_a_full_folder_or_refused(case: Case, light: Dispatcher) -> None:
    if case.methods & ELSEWHERE or case.methods - light.registry.methods.keys():
        pytest.skip("a light folder has no pool")
    difference = disagreement(case, memory_transport(light, Client()))
    if difference is None or case.methods & OF_ALL_BLOCKS:
        return
    errors = refusals(case, light)
    assert errors, difference
    for error in errors:
        assert (error["code"], error["message"]) == (4444, "pruned history unavailable"), difference
    assert case.methods <= NEED_STATE, difference


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")
def test_the_methods_that_need_state_are_those_that_the_documentation_lists() -> None:
    text = PAGE.read_text()
    assert all(f"`{name}`" in text for name in NEED_STATE)
