"""Replies to the cases of execution-apis, and blocks with all they have, fit its published schemas."""

import json
from typing import Any, Final

import pytest

from tests.conformance.published_schemas import PUBLISHED, faults
from tests.conformance.test_execution_apis import CASES
from tests.memory_transport import Ask
from wsnode.verify.cases import Case

UNPUBLISHED: Final = frozenset({"eth_getStorageValues"})
"""Methods of the cases that the published document does not have."""


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_reply_fits_the_published_schema(case: Case, ask: Ask) -> None:
    for exchange in case.exchanges:
        request = json.loads(exchange.request)
        reply = ask(request["method"], *request.get("params") or ())
        if "result" in reply and request["method"] not in UNPUBLISHED:
            assert faults(request["method"], reply["result"]) == []


@pytest.mark.slow
def test_every_block_with_its_receipts_and_traces_fits(ask: Ask) -> None:
    for number in range(int(ask("eth_blockNumber")["result"], 16) + 1):
        block = ask("eth_getBlockByNumber", hex(number), True)["result"]
        assert faults("eth_getBlockByNumber", block) == []
        for transaction in block["transactions"]:
            found = ask("eth_getTransactionByHash", transaction["hash"])["result"]
            assert faults("eth_getTransactionByHash", found) == []
        # The genesis block has no trace.
        methods = ("eth_getBlockReceipts", "debug_getRawReceipts", "debug_traceBlockByNumber")
        for method in methods[: 3 if number else 2]:
            assert faults(method, ask(method, hex(number))["result"]) == []
        logs = ask("eth_getLogs", {"fromBlock": hex(number), "toBlock": hex(number)})["result"]
        # An empty list is one of hashes as well as one of logs, which the document does not provide for.
        assert not logs or faults("eth_getLogs", logs) == []


def test_every_method_of_the_cases_has_a_schema() -> None:
    assert {method for case in CASES for method in case.methods} - UNPUBLISHED <= PUBLISHED["results"].keys()


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("eth_blockNumber", "0x01"),
        ("eth_blockNumber", None),
        ("eth_getBlockByHash", {"hash": "0x"}),
        ("eth_syncing", {"currentBlock": "0x1", "pulledStates": "0x0"}),
    ],
)
def test_a_wrong_reply_is_noticed(method: str, result: Any) -> None:
    assert faults(method, result)


@pytest.mark.parametrize("extra", [{"another": "0x1"}, {"withdrawalsRoot": None}, {"totalDifficulty": "0x1"}])
def test_an_unknown_member_and_null_are_noticed(extra: dict[str, Any], ask: Ask) -> None:
    block = ask("eth_getBlockByNumber", "latest", True)["result"]
    assert faults("eth_getBlockByNumber", block) == []
    assert faults("eth_getBlockByNumber", {**block, **extra})
    first = {**block["transactions"][0], **extra}
    assert faults("eth_getBlockByNumber", {**block, "transactions": [first, *block["transactions"][1:]]})
