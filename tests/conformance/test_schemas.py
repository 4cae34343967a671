"""Every reply to the cases of execution-apis, and every request, fits the document."""

import json
from typing import Any

import pytest

from tests.conformance.test_execution_apis import CASES, EDGE_CASES
from tests.memory_transport import Ask
from tests.reply_schemas import ReplySchemas
from wsnode.verify.cases import Case


@pytest.fixture(scope="module")
def schemas(ask: Ask) -> ReplySchemas:
    return ReplySchemas(ask("rpc.discover")["result"])


def results(case: Case, ask: Ask) -> list[tuple[str, Any]]:
    requests = (json.loads(exchange.request) for exchange in case.exchanges)
    replies = ((request, ask(request["method"], *request.get("params") or ())) for request in requests)
    return [(request["method"], reply["result"]) for request, reply in replies if "result" in reply]


@pytest.mark.parametrize("case", [*CASES, *EDGE_CASES], ids=lambda case: case.name)
def test_a_result_fits_its_schema(case: Case, ask: Ask, schemas: ReplySchemas) -> None:
    for method, result in results(case, ask):
        schemas.validate(method, result)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_leads_to_a_result_fits_the_parameters_schemas(case: Case, schemas: ReplySchemas) -> None:
    for exchange in case.exchanges:
        request = json.loads(exchange.request)
        if "result" in json.loads(exchange.reply or "{}"):
            schemas.validate_parameters(request["method"], request.get("params") or ())
