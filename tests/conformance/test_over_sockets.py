"""Every case of execution-apis against a serving process, over HTTP and over WebSocket."""

import json
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from typing import Any

import pytest

from tests.conformance.cases import Transport, disagreement
from tests.node_process import Node, conversation, post
from tests.vector_files import find_vectors
from wsnode.verify.cases import Case, read_cases
from wsnode.verify.comparison import difference

FOLDER = find_vectors("execution-apis/tests")
CASES = read_cases(FOLDER) if FOLDER else []
HEAD = "0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7"


@pytest.fixture(scope="module", params=["served", pytest.param("served_by_workers", marks=pytest.mark.slow)])
def node(request: pytest.FixtureRequest) -> Node:
    node: Node = request.getfixturevalue(request.param)
    return node


@pytest.fixture(scope="module", params=["http", "websocket"])
def transport(request: pytest.FixtureRequest, node: Node) -> Iterator[Transport]:
    if request.param == "http":
        yield partial(post, node.bare(node.http_url))
    else:
        with conversation(node.bare(node.socket_url)) as call:
            yield call


@pytest.fixture(scope="module", params=["http", "websocket"])
def service(request: pytest.FixtureRequest, node: Node) -> Iterator[Transport]:
    if request.param == "http":
        yield partial(post, node.http_url)
    else:
        with conversation(node.socket_url) as call:
            yield call


def is_offered(case: Case, transport: Transport) -> bool:
    return all(
        json.loads(transport(exchange.request) or "").get("error", {}).get("code") != -32601
        for exchange in case.exchanges
    )


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_is_answered_as_expected(case: Case, transport: Transport) -> None:
    if not is_offered(case, transport):
        pytest.skip(f"no method {', '.join(sorted(case.methods))}")
    assert disagreement(case, transport) is None


@pytest.mark.slow
@pytest.mark.parametrize("folder", [name for name, _ in groupby(CASES, lambda case: case.name.split("/")[0])])
def test_a_folder_of_cases_is_answered_as_one_batch(folder: str, transport: Transport) -> None:
    cases = [case for case in CASES if case.name.startswith(folder + "/") and not case.shape_only]
    exchanges = [exchange for case in cases if is_offered(case, transport) for exchange in case.exchanges]
    if not exchanges:
        pytest.skip("no method, or shapes only")
    requests = [json.loads(exchange.request) | {"id": place} for place, exchange in enumerate(exchanges)]
    expected = [json.loads(exchange.reply) | {"id": place} for place, exchange in enumerate(exchanges)]
    assert difference(json.loads(transport(json.dumps(requests)) or ""), expected) is None


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_service_differs_by_total_difficulty_alone(case: Case, service: Transport) -> None:
    if case.shape_only or not is_offered(case, service):
        pytest.skip("shape only, or no such method")
    for exchange in case.exchanges:
        reply = json.loads(service(exchange.request) or "")
        assert difference(without_total_difficulty(reply), json.loads(exchange.reply)) is None


def without_total_difficulty(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: without_total_difficulty(item) for key, item in value.items() if key != "totalDifficulty"
        }
    return [without_total_difficulty(item) for item in value] if isinstance(value, list) else value


def test_blocks_of_the_service_sum_up_the_difficulty(service: Transport) -> None:
    total = 0
    for number in range(55):
        request = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "eth_getBlockByNumber",
            "params": [hex(number), False],
        }
        block = json.loads(service(json.dumps(request)) or "")["result"]
        total += int(block["difficulty"], 16)
        assert int(block["totalDifficulty"], 16) == total
    # The terminal total difficulty of the genesis file, crossed by the last proof-of-work block.
    assert total >= 4732352
