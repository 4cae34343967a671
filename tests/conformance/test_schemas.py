"""Every reply to the cases of execution-apis, and every request, fits the document."""

import json

import pytest

from tests.conformance.test_execution_apis import CASES, EDGE_CASES
from tests.memory_transport import Ask
from tests.reply_schemas import ReplySchemas
from wsnode.verify.cases import Case


@pytest.fixture(scope="module")
def schemas(ask: Ask) -> ReplySchemas:
    return ReplySchemas(ask("rpc.discover")["result"])


@pytest.mark.slow
@pytest.mark.parametrize("case", [*CASES, *EDGE_CASES], ids=lambda case: case.name)
def test_a_reply_is_as_the_document_says(case: Case, ask: Ask, schemas: ReplySchemas) -> None:
    for exchange in case.exchanges:
        request = json.loads(exchange.request)
        method, reply = request["method"], ask(request["method"], *request.get("params") or ())
        if "result" in reply:
            schemas.validate(method, reply["result"])
        else:
            schemas.validate_error(method, reply["error"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_leads_to_a_result_fits_the_parameters_schemas(case: Case, schemas: ReplySchemas) -> None:
    for exchange in case.exchanges:
        request = json.loads(exchange.request)
        if "result" in json.loads(exchange.reply or "{}"):
            schemas.validate_parameters(request["method"], request.get("params") or ())
