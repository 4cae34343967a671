"""The OpenRPC document tells the truth: every reply over the chain fits its schema."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.memory_transport import Ask
from tests.reply_schemas import vague_places, validating
from wsnode.jsonrpc.dispatcher import Dispatcher

pytestmark = pytest.mark.slow

HEAD = 54
# The logs of block 2 are 21 MB, which take a validator seconds.
FIRST = 3
ACCOUNT = "0x" + "13" * 20


@pytest.fixture(scope="module")
def document(ask: Ask) -> dict[str, Any]:
    written: dict[str, Any] = ask("rpc.discover")["result"]
    return written


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, member in value.items():
            if name == "$ref":
                yield member
            else:
                yield from references(member)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def test_every_method_is_in_it(document: dict[str, Any], dispatcher: Dispatcher) -> None:
    assert [method["name"] for method in document["methods"]] == sorted(dispatcher.registry.methods)
    assert all(method["summary"] for method in document["methods"])


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    local = {text.rpartition("/")[2] for text in references(document) if text.startswith("#")}
    assert local <= document["components"]["schemas"].keys()


def test_every_type_of_a_parameter_is_described(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert [name for name, schema in schemas.items() if not any(schema.values())] == []


def test_nothing_in_it_is_left_open(document: dict[str, Any]) -> None:
    assert vague_places(document) == []


def calls() -> Iterator[tuple[str, list[Any]]]:
    for number in map(hex, range(FIRST, HEAD + 2)):
        yield from (("eth_getBlockByNumber", [number, full]) for full in (True, False))
        yield "eth_getBlockReceipts", [number]
        yield "eth_getUncleByBlockNumberAndIndex", [number, "0x0"]
        yield "eth_getUncleCountByBlockNumber", [number]
        yield "eth_getBlockTransactionCountByNumber", [number]
        yield "eth_getTransactionByBlockNumberAndIndex", [number, "0x1"]
        yield "debug_getRawReceipts", [number]
    yield "eth_getBlockByNumber", ["pending", True]
    yield "eth_getLogs", [{"fromBlock": hex(FIRST), "toBlock": "latest"}]
    yield "wsnode_getLogsPage", [{"fromBlock": hex(FIRST), "limit": 3}]
    yield "eth_getProof", [ACCOUNT, ["0x0", "0x" + "12" * 32], "latest"]
    yield "eth_getStorageValues", [{ACCOUNT: ["0x" + "12" * 32]}, "latest"]
    yield "eth_getStorageAt", [ACCOUNT, "0x0", "latest"]
    yield "eth_feeHistory", ["0x40", "latest", [10, 50]]
    yield "eth_call", [{"to": ACCOUNT}]
    yield "eth_createAccessList", [{"to": ACCOUNT}]
    yield "debug_traceBlockByNumber", ["latest", {"tracer": "callTracer"}]
    yield "debug_traceCall", [{"to": ACCOUNT}]
    yield "txpool_contentFrom", [ACCOUNT]
    failing = {
        "stateOverrides": {ACCOUNT: {"code": "0x60006000fd"}},
        "calls": [{"to": ACCOUNT, "gas": "0x9999"}],
    }
    for full in (False, True):
        yield "eth_simulateV1", [{"blockStateCalls": [failing, {}], "returnFullTransactions": full}]
    yield "web3_sha3", ["0x12"]
    yield "debug_getRawBlock", ["latest"]
    yield from (("eth_" + name, [ACCOUNT, "latest"]) for name in ("getBalance", "getCode"))
    taken = ("eth_blockNumber", "eth_chainId", "eth_gasPrice", "eth_baseFee", "eth_blobBaseFee")
    node = ("net_version", "net_listening", "net_peerCount", "web3_clientVersion", "eth_accounts")
    more = ("eth_syncing", "txpool_status", "txpool_content", "rpc_modules", "eth_config", "eth_capabilities")
    yield from ((name, []) for name in (*taken, *node, *more))


@pytest.mark.parametrize("service_form", [False, True])
def test_every_reply_fits_its_schema(ask: Ask, service_form: bool) -> None:
    checked = validating(ask)
    for name, params in calls():
        reply = checked(name, *params, service_form=service_form)
        assert "error" not in reply, (name, params, reply)
