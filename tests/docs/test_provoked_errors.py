"""Errors provoked on a real node: each has the code and message that docs/reference/errors.md explains."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from eth_account import Account
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.docs.error_page import explained
from tests.node_process import PATIENCE, Node, started
from tests.test_error_codes import CODES
from tests.vector_files import CHECKOUT

pytestmark = pytest.mark.slow

LIMITS = {
    "batch_items": 5,
    "batch_reply_bytes": 3_000,
    "body_bytes": 20_000,
    "filters": 1,
    "logs_results": 5,
    "parameter_values": 3_000,
    "subscriptions": 1,
}
RICH = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
RICH_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
POOR_KEY = "0x" + "77" * 32
TOKEN = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
NOBODY = "0x" + "77" * 20
NOWHERE = "0x" + "11" * 32
NUMBER = "0xffffff"
BAD_CURSOR = {"cursor": "not-a-cursor"}
TRANSFER = "0xa9059cbb" + "77".rjust(64, "0") + "ff" * 32
LOOP = "0x5b600056"
ELSEWHERE = {
    -32603: "jsonrpc/test_dispatcher.py",
    4444: "ethereum/test_window.py",
    -38001: "ethereum/rpc/engine/test_methods.py",
    -38002: "ethereum/rpc/engine/test_forkchoice.py",
    -38003: "ethereum/rpc/engine/test_forkchoice.py",
    -38004: "ethereum/rpc/engine/test_methods.py",
    -38005: "ethereum/rpc/engine/test_forkchoice.py",
    27: "starknet/rpc/test_transactions.py",
    29: "starknet/rpc/test_transactions.py",
    32: "starknet/rpc/test_methods.py",
    42: "starknet/rpc/test_state_storage_proofs.py",
    67: "starknet/live/test_streams.py",
    68: "starknet/live/test_subscription_heads.py",
}
"""Codes of other kinds of nodes, and of bugs: the tests that provoke them."""


class Provoked(NamedTuple):
    """A call, and the error that it ends with."""

    method: str
    params: Any
    code: int
    message: str


def simulated(call: dict[str, Any], **block: Any) -> Any:
    """Return parameters of `eth_simulateV1` with one validated call."""
    return [{"blockStateCalls": [{"calls": [call], **block}], "validation": True}, "latest"]


def signed(key: str = RICH_KEY, **fields: Any) -> list[str]:
    """Return the parameters that send a signed transaction."""
    usual = {"to": NOBODY, "value": 1, "gas": 21000, "gasPrice": 10**10, "nonce": 900, "chainId": 31337}
    return ["0x" + Account.from_key(key).sign_transaction(usual | fields).raw_transaction.hex()]


CALLS = [
    Provoked("eth_nope", [], -32601, "the method eth_nope does not exist/is not available"),
    Provoked("x" * 3000, [], -32600, "method name too long: 3000 > 2048"),
    Provoked("eth_getBalance", [], -32602, "missing value for required argument 0"),
    Provoked("eth_getBalance", [NOBODY, "latest", 1], -32602, "too many arguments, want at most 2"),
    Provoked("eth_getBalance", {}, -32602, "non-array args"),
    Provoked("eth_getBalance", ["0x1"], -32602, "invalid argument 0: "),
    Provoked("eth_getBalance", [NOBODY, NUMBER], -32000, "header not found"),
    Provoked("eth_getBalance", [NOBODY, {"blockHash": NOWHERE}], -32000, "header for hash not found"),
    Provoked("eth_getStorageAt", [NOBODY, "0x" + "1" * 66, "latest"], -32602, "storage key too long"),
    Provoked("eth_getStorageAt", [NOBODY, "0xzz", "latest"], -32602, "invalid hex in storage key"),
    Provoked("eth_getStorageValues", [{}], -32602, "empty request"),
    Provoked("eth_getProof", [NOBODY, ["0x1"] * 1025, "latest"], -32602, "too many storage keys requested"),
    Provoked("eth_getStorageValues", [{NOBODY: [NOWHERE] * 1025}], -38026, "too many slots (max 1024)"),
    Provoked("eth_call", [{"to": TOKEN, "data": TRANSFER}], 3, "execution reverted"),
    Provoked("eth_call", [{"data": LOOP, "gas": "0x10000"}], -32000, "out of gas"),
    Provoked("eth_call", [{"data": "0xfe"}], -32000, "invalid opcode: INVALID"),
    Provoked("eth_call", [{"data": "0x01"}], -32000, "stack underflow (0 <=> 2)"),
    Provoked("eth_call", [{"data": "0x600056"}], -32000, "invalid jump destination"),
    Provoked("eth_call", [{"data": "0x60ef60005360016000f3"}], -32000, "invalid code: must not begin"),
    Provoked(
        "eth_call",
        [{"from": NOBODY, "to": RICH, "value": "0x1", "gas": "0x5208"}],
        -32000,
        "err: insufficient funds",
    ),
    Provoked("eth_call", [{"gasPrice": "0x1", "maxFeePerGas": "0x1"}], -32000, "both gasPrice and"),
    Provoked(
        "eth_call",
        [{"maxFeePerGas": "0x1", "maxPriorityFeePerGas": "0x2"}],
        -32000,
        "maxFeePerGas (0x1) < maxPriorityFeePerGas (0x2)",
    ),
    Provoked("eth_sendRawTransaction", ["0x"], -32000, "typed transaction too short"),
    Provoked("eth_sendRawTransaction", ["0xc0"], -32000, "rlp: "),
    Provoked("eth_sendRawTransaction", signed(chainId=1), -32000, "invalid sender: invalid chain id"),
    Provoked("eth_sendRawTransaction", signed(nonce=0), -32000, "nonce too low: next nonce "),
    Provoked("eth_sendRawTransaction", signed(POOR_KEY, nonce=0), -32000, "insufficient funds for gas"),
    Provoked("eth_sendRawTransaction", signed(gas=20000), -32000, "intrinsic gas too low: "),
    Provoked("eth_sendRawTransaction", signed(gas=2 * 10**7), -32000, "transaction gas limit too high"),
    Provoked("eth_sendRawTransactionSync", [*signed(nonce=901), 1], 4, "The transaction was added to the"),
    Provoked("eth_sendTransaction", [{"from": NOBODY, "to": RICH}], -32000, "unknown account"),
    Provoked("anvil_mine", ["0xffffff"], -32602, "invalid argument 0: more than "),
    Provoked("eth_getLogs", [{"fromBlock": "0x2", "toBlock": "0x1"}], -32602, "invalid block range params"),
    Provoked("eth_getLogs", [{"fromBlock": "pending"}], -32602, "pending logs are not supported"),
    Provoked("eth_getLogs", [{"fromBlock": "0x0"}], -32005, "query returned more than 5 results"),
    Provoked("eth_getLogs", [{"blockHash": NOWHERE}], -32000, "unknown block"),
    Provoked("eth_getLogs", [{"address": [NOBODY] * 5001}], -32602, "the parameters have too many values"),
    Provoked("wsnode_getLogsPage", [BAD_CURSOR], -32602, "invalid argument 0: invalid cursor"),
    Provoked("eth_getFilterChanges", ["0xff"], -32000, "filter not found"),
    Provoked("eth_subscribe", ["nothing"], -32601, 'no "nothing" subscription in eth namespace'),
    Provoked("eth_subscribe", [], -32602, "expected subscription name as first argument"),
    Provoked("eth_subscribe", ["logs", BAD_CURSOR], -32602, "invalid argument 1: invalid cursor"),
    Provoked("eth_unsubscribe", ["0x1"], -32000, "subscription not found"),
    Provoked("debug_traceBlockByNumber", ["0x0"], -32000, "genesis is not traceable"),
    Provoked("debug_traceBlockByNumber", [NUMBER], -32000, "block #16777215 not found"),
    Provoked("debug_traceTransaction", [NOWHERE], -32000, "transaction not found"),
    Provoked("debug_traceCall", [{}, "latest", {"tracer": "nope"}], -32000, "ReferenceError: nope is not"),
    Provoked("debug_traceCall", [{}, "latest", {"tracer": "{}"}], -32000, "tracers in JavaScript are not"),
    Provoked("debug_traceCall", [{}, "pending", {}], -32000, "tracing on top of pending is not supported"),
    Provoked("debug_getModifiedAccountsByNumber", [5, 4], -32000, "start block height (5) must be less"),
    Provoked("ots_searchTransactionsBefore", [NOBODY, 0, 100], -32602, "max allowed page size: 25"),
    Provoked("eth_feeHistory", ["0x1", NUMBER, []], -32000, "request beyond head block: requested 16777215"),
    Provoked("eth_feeHistory", ["0x1", "latest", [200]], -32000, "invalid reward percentile: "),
    Provoked("eth_simulateV1", simulated({"from": RICH, "nonce": "0x0"}), -38010, "err: nonce too low"),
    Provoked("eth_simulateV1", simulated({"from": RICH, "nonce": "0xffff"}), -38011, "err: nonce too high"),
    Provoked(
        "eth_simulateV1",
        simulated({"from": NOBODY}, blockOverrides={"baseFeePerGas": "0x10"}),
        -38012,
        "err: max fee per gas less than",
    ),
    Provoked(
        "eth_simulateV1",
        simulated({"from": RICH, "gas": "0x1", "maxFeePerGas": "0xfffffffff"}),
        -38013,
        "err: intrinsic gas too low",
    ),
    Provoked(
        "eth_simulateV1",
        simulated({"from": NOBODY, "value": "0x1", "maxFeePerGas": "0xfffffffff"}),
        -38014,
        "err: insufficient funds",
    ),
    Provoked(
        "eth_simulateV1",
        simulated({"from": RICH, "gas": "0xfffff"}, blockOverrides={"gasLimit": "0xffff"}),
        -38015,
        "block gas limit reached: remaining: ",
    ),
    Provoked("eth_simulateV1", simulated({}, blockOverrides={"number": "0x1"}), -38020, "block numbers must"),
    Provoked("eth_simulateV1", simulated({}, blockOverrides={"time": "0x1"}), -38021, "block timestamps"),
    Provoked(
        "eth_simulateV1",
        simulated({"from": RICH, "data": "0x" + "00" * 60000, "maxFeePerGas": "0xfffffffff"}),
        -38025,
        "err: max initcode size exceeded",
    ),
    Provoked("eth_simulateV1", [{"blockStateCalls": [{}] * 257}, "latest"], -38026, "too many blocks"),
    Provoked("eth_simulateV1", [{"blockStateCalls": []}, "latest"], -32602, "empty input"),
    Provoked("alt_getClassAt", {"block_id": "latest", "contract_address": "0x1"}, 20, "Contract not found"),
    Provoked("alt_getStateUpdate", {"block_id": {"block_number": 99999}}, 24, "Block not found"),
    Provoked("alt_getClass", {"block_id": "latest", "class_hash": "0x1"}, 28, "Class hash not found"),
    Provoked("alt_getEvents", {"filter": {"chunk_size": 1025}}, 31, "Requested page size is too big"),
    Provoked(
        "alt_getEvents",
        {"filter": {"chunk_size": 1, "continuation_token": "1"}},
        33,
        "The supplied continuation token is invalid or unknown",
    ),
    Provoked(
        "alt_getEvents",
        {"filter": {"chunk_size": 1, "keys": [[]] * 17}},
        34,
        "Too many keys provided in a filter",
    ),
    Provoked("starknet_unsubscribe", {"subscription_id": "1"}, 66, "Invalid subscription id"),
    Provoked("alt_getClassAt", [], -32602, "Invalid params"),
]
SENT = [
    ("{", -32700, "parse error"),
    ("[]", -32600, "empty batch"),
    ('{"id": 1}', -32600, "invalid request"),
    (json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "eth_chainId"}] * 6), -32600, "batch too large"),
]
REFUSED = [
    ("/", {"Host": "evil.example"}, 403, "invalid host specified"),
    (
        "/",
        {"Origin": "https://evil.example"},
        403,
        "origin not allowed; --origin (origins in a file) names the pages that may connect",
    ),
    ("/nowhere", {}, 404, "not found"),
    ("/", {"Content-Type": "text/plain"}, 415, "invalid content type, only application/json is supported"),
    ("/", {"Content-Encoding": "br"}, 415, "content encoding br is not supported"),
    ("/", {"Content-Encoding": "gzip"}, 400, "damaged gzip body"),
    ("/ws/v3/key", {}, 426, "this path needs a WebSocket upgrade"),
]


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    """Return a demo with small limits."""
    limits = [word for name, value in LIMITS.items() for word in ("--limit", f"{name}={value}")]
    with started("demo", "--listen", "127.0.0.1:0", "--block-time", "1", "--quiet", *limits) as node:
        yield node


@pytest.fixture(scope="module")
def connection(node: Node) -> Iterator[ClientConnection]:
    """Return a WebSocket connection to it."""
    with connect(node.bare(node.socket_url), max_size=None) as connection:
        yield connection


def answer(connection: ClientConnection, text: str) -> Any:
    """Return the next reply, past notifications."""
    connection.send(text)
    while True:
        message = json.loads(connection.recv(PATIENCE))
        if isinstance(message, list) or "method" not in message:
            return message


def call(connection: ClientConnection, method: str, params: Any) -> Any:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return answer(connection, json.dumps(request))


def rest(connection: ClientConnection) -> Iterator[str | bytes]:
    """Yield messages until the node closes the connection."""
    with suppress(ConnectionClosed):
        yield from connection


def check(error: dict[str, Any], code: int, message: str) -> None:
    """Assert that an error is the expected one, and that the page explains it."""
    assert error["code"] == code, error
    assert error["message"].startswith(message), error
    assert any(row.covers(error["message"], code) for row in explained()), error


@pytest.mark.parametrize("provoked", CALLS, ids=lambda each: each.message.strip(": "))
def test_a_call_ends_with_an_error_of_the_page(connection: ClientConnection, provoked: Provoked) -> None:
    reply = call(connection, provoked.method, provoked.params)
    assert "error" in reply, reply
    check(reply["error"], provoked.code, provoked.message)


@pytest.mark.parametrize(("text", "code", "message"), SENT, ids=[message for *_, message in SENT])
def test_what_is_no_call_gets_an_error_of_the_page(
    connection: ClientConnection, text: str, code: int, message: str
) -> None:
    reply = answer(connection, text)
    check((reply[0] if isinstance(reply, list) else reply)["error"], code, message)


def refusal(node: Node, path: str, headers: dict[str, str], body: bytes = b"{}") -> tuple[int, Any]:
    """Return the status and the JSON of a POST that is refused."""
    url = node.bare(node.http_url).rstrip("/") + path
    sent = {"Content-Type": "application/json", **headers}
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(urllib.request.Request(url, body, sent), timeout=PATIENCE)
    with refused.value as reply:
        return reply.code, json.loads(reply.read())


@pytest.mark.parametrize(("path", "headers", "status", "message"), REFUSED)
def test_a_refused_request_has_an_error_of_the_page(
    node: Node, path: str, headers: dict[str, str], status: int, message: str
) -> None:
    got, reply = refusal(node, path, headers)
    assert got == status
    check(reply["error"], -32600, message)


def test_a_body_too_large_is_refused(node: Node) -> None:
    status, reply = refusal(node, "/", {}, b" " * 30_000)
    assert status == 413
    check(reply["error"], -32600, "content length too large (30000>20000)")


def test_a_subscription_over_http_is_refused(node: Node) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}'
    request = urllib.request.Request(
        node.bare(node.http_url), body, headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
        check(json.loads(reply.read())["error"], -32601, "notifications not supported")


def test_a_batch_whose_replies_are_too_large_gets_an_error_for_each_that_is_left(
    connection: ClientConnection,
) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "eth_getBlockByNumber", "params": ["latest", False]}
    replies = answer(connection, json.dumps([request] * 5))
    check(replies[-1]["error"], -32003, "response too large")


def test_one_filter_and_one_subscription_too_many_are_refused(connection: ClientConnection) -> None:
    assert "result" in call(connection, "eth_newBlockFilter", [])
    check(call(connection, "eth_newBlockFilter", [])["error"], -32005, "too many filters")
    assert "result" in (first := call(connection, "eth_subscribe", ["newHeads"]))
    refused = call(connection, "eth_subscribe", ["newHeads"])
    check(refused["error"], -32005, "subscription limit exceeded")
    assert call(connection, "eth_unsubscribe", [first["result"]])["result"] is True


def test_a_known_transaction_and_a_cheap_replacement_are_refused(connection: ClientConnection) -> None:
    assert "result" in call(connection, "eth_sendRawTransaction", signed(nonce=902))
    again = call(connection, "eth_sendRawTransaction", signed(nonce=902))
    check(again["error"], -32000, "already known")
    cheap = call(connection, "eth_sendRawTransaction", signed(nonce=902, value=2))
    check(cheap["error"], -32000, "replacement transaction underpriced")


def test_a_halted_call_of_a_simulation_has_its_error_in_the_result(connection: ClientConnection) -> None:
    params = [{"blockStateCalls": [{"calls": [{"data": "0xfe"}]}]}, "latest"]
    block = call(connection, "eth_simulateV1", params)["result"][0]
    assert block["calls"][0]["error"]["code"] == -32015


def test_a_call_without_a_key_is_refused(tmp_path: Path) -> None:
    with started("demo", "--data", str(tmp_path), "--listen", "127.0.0.1:0", "--quiet") as demo:
        demo.stop()
    with started("serve", "--data", str(tmp_path), "--listen", "127.0.0.1:0") as node:
        hint = "`wsnode keys add` makes one, --open accepts any"
        for path, message in (("/v3/", "an API key is required in the URL"), ("/v3/k", "invalid API key")):
            status, reply = refusal(node, path, {})
            assert status == 401
            check(reply["error"], -32600, f"{message}; {hint}")


def test_a_batch_out_of_time_says_so() -> None:
    heavy = {"jsonrpc": "2.0", "id": 1, "method": "debug_traceCall", "params": [{"data": LOOP}, "latest", {}]}
    limits = ("--limit", "batch_seconds=0.05", "--quiet", "--listen", "127.0.0.1:0")
    with started("dev", *limits) as node, connect(node.socket_url, max_size=None) as connection:
        replies = answer(connection, json.dumps([heavy] * 3))
        check(replies[-1]["error"], -32002, "request timed out")


def test_a_node_that_ends_gives_notice_and_forgets_cursors_of_another_chain() -> None:
    with started("dev", "--quiet", "--listen", "127.0.0.1:0") as node, connect(node.socket_url) as connection:
        assert "result" in call(connection, "eth_subscribe", ["newHeads", {"cursors": True}])
        call(connection, "evm_mine", [])
        node.stop()
        notices = [params for text in rest(connection) if (params := json.loads(text).get("params"))]
        # The block's notification may have come before the reply to `evm_mine`.
        check(notices[-1]["error"], -32006, "the node is restarting")
    cursor = {"cursor": notices[-1]["error"]["data"]["cursor"]}
    other = ("dev", "--quiet", "--listen", "127.0.0.1:0", "--chain-id", "31338")
    with started(*other) as node, connect(node.socket_url) as connection:
        behind = call(connection, "eth_subscribe", ["newHeads", cursor])
        check(behind["error"], -32001, "the node is behind: it has no such block yet")
        call(connection, "evm_mine", [])
        unknown = call(connection, "eth_subscribe", ["newHeads", cursor])
        check(unknown["error"], -32001, "the cursor's block is unknown")


def test_every_code_is_provoked_here_or_in_a_test_that_is_named() -> None:
    here = {provoked.code for provoked in CALLS} | {code for _, code, _ in SENT}
    text = Path(__file__).read_text()
    here |= {code for code in CODES if f", {code}, " in text or f"== {code}" in text}
    assert here | ELSEWHERE.keys() == CODES.keys()
    for code, place in ELSEWHERE.items():
        assert str(code) in (CHECKOUT / "tests" / place).read_text(), (code, place)
