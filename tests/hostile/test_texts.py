"""Any text from a client: the work of a turn is bounded, and no error repeats much of the text.

Each message here once blocked a node for seconds, or took gigabytes.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.ethereum.development.playground import playground
from tests.hostile.shapes import ADDRESS, MESSAGES, VALUES, message
from tests.hostile.work import Turns
from tests.memory_transport import Client, Conversation, advance
from wsnode.ethereum.logs.cursor import LogCursor
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.calls.call_object import MAX_ACCESSES
from wsnode.ethereum.rpc.logs.cursor import digest_of
from wsnode.ethereum.rpc.logs.filter_object import decode_filter_object
from wsnode.jsonrpc.codec import encode_cursor
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import ECHO_CHARACTERS, INTERNAL_ERROR, MESSAGE_CHARACTERS, RpcError
from wsnode.jsonrpc.requests import LONG_BYTES, QUICK_VALUES
from wsnode.jsonrpc.work import CallTask, RunInThread
from wsnode.server.limits import Limits
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.rpc.methods import build_registry

MAX_LINES = 24 * QUICK_VALUES
"""Of Python in a turn; a line takes some 50 nanoseconds."""
WHOLE_MESSAGE = Limits().message_bytes - 1000
LARGE_CALL = 69 * (MAX_ACCESSES - 1)
"""The bytes of the longest access list that a call may have: an address, and 69 bytes for each slot."""
CLIENT = Client()
LARGER = ("empty strings", "a long word", "digits", "escapes", "addresses")


@pytest.fixture(scope="module")
def development(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dispatcher]:
    """Return a development chain of two blocks, which has all methods but those of the Starknet family."""
    with playground(tmp_path_factory.mktemp("chain")) as chain:
        chain.send()
        chain.send()
        yield chain.dispatcher


@pytest.fixture(scope="module")
def alt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dispatcher]:
    with StarknetChain.open(tmp_path_factory.mktemp("alt"), writer=True) as chain:
        yield Dispatcher(build_registry(), chain.snapshot)


def check_error(reply: bytes | None) -> None:
    """Look at what an error repeats, and that it is none of the node's mistakes."""
    if reply is None or not reply.startswith(b'{"jsonrpc":"2.0","id":1,"error"'):
        return
    error: dict[str, Any] = json.loads(reply)["error"]
    assert error["code"] != INTERNAL_ERROR, error
    data = error.get("data")
    texts = [error["message"], data["reason"] if isinstance(data, dict) and "reason" in data else ""]
    for text in texts:
        assert len(text) <= MESSAGE_CHARACTERS
        assert max(map(len, text.split()), default=0) <= ECHO_CHARACTERS


def ask_everything(dispatcher: Dispatcher, shape: str, size: int) -> dict[str, int]:
    """Ask each method with a value as each of its first arguments; return those whose turns were long."""
    value = VALUES[shape](size)
    address = b'"0x' + b"11" * 20 + b'"'
    lines = {}
    for name in dispatcher.registry.methods:
        turns = Turns()
        for params in (
            value,
            b"[%b]" % value,
            b"[%b,%b]" % (address, value),
            b'["0x1",%b]' % value,
            b'[{},"latest",%b]' % value,
            b'["latest",%b,%b]' % (value, value),
        ):
            check_error(turns.answer(Conversation(dispatcher, CLIENT), message(name, params)))
        lines[name] = turns.most
    return {name: most for name, most in lines.items() if most > MAX_LINES}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "size"), [(shape, 5_000) for shape in VALUES] + [(shape, LONG_BYTES // 4) for shape in LARGER]
)
def test_no_parameters_of_any_method_hold_up_a_turn(development: Dispatcher, shape: str, size: int) -> None:
    assert ask_everything(development, shape, size) == {}


@pytest.mark.slow
@pytest.mark.parametrize("shape", VALUES)
def test_nor_do_those_of_the_alt_family(alt: Dispatcher, shape: str) -> None:
    assert ask_everything(alt, shape, 5_000) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", ["eth_chainId", "eth_call", "eth_getLogs", "debug_traceCall", "eth_feeHistory"]
)
@pytest.mark.parametrize("shape", VALUES)
def test_nor_do_the_longest_that_are_let_in(development: Dispatcher, method: str, shape: str) -> None:
    turns = Turns()
    value = VALUES[shape](WHOLE_MESSAGE)
    for params in (b"[%b]" % value, b'[{},"latest",%b]' % value):
        check_error(turns.answer(Conversation(development, CLIENT), message(method, params)))
    assert turns.most < 2_000


@pytest.mark.slow
@pytest.mark.parametrize("shape", MESSAGES)
@pytest.mark.parametrize("size", [LONG_BYTES - 1000, WHOLE_MESSAGE], ids=["short", "long"])
def test_no_message_holds_up_a_turn(development: Dispatcher, shape: str, size: int) -> None:
    turns = Turns()
    check_error(turns.answer(Conversation(development, CLIENT), MESSAGES[shape](size)))
    assert turns.most < 5_000


@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas"])
@pytest.mark.parametrize("place", [b"[%b]", b'[{},"latest",%b]'], ids=["access list", "overrides"])
def test_what_a_large_call_brings_along_is_never_read_on_the_loop(
    development: Dispatcher, method: str, place: bytes
) -> None:
    shape = VALUES["access list"](LARGE_CALL) if place == b"[%b]" else VALUES["overrides"](1_000_000)
    answer = Conversation(development, CLIENT).receive(message(method, place % shape))
    steps = []
    while isinstance(answer, CallTask) and not advance(answer):
        steps.append(type(answer.step))
    # After the parameters: what the engine makes of them, and the run.
    assert steps == [RunInThread] * len(steps)
    assert len(steps) >= 2


@pytest.mark.parametrize(
    ("method", "params", "makes"),
    [
        ("eth_createAccessList", b"[%b]", "message_of"),
        ("debug_traceCall", b"[%b]", "message_of"),
        ("trace_call", b"[%b,[]]", "message_of"),
        ("eth_simulateV1", b'[{"blockStateCalls":[{"calls":[%b]}]}]', "Simulations._prepare"),
        ("eth_fillTransaction", b"[%b]", "encoded"),
        ("eth_signTransaction", b"[%b]", "signed"),
    ],
)
def test_no_large_call_is_made_for_the_engine_on_the_loop(
    development: Dispatcher, method: str, params: bytes, makes: str
) -> None:
    sender = development.registry.methods["eth_accounts"].function()[0].encode()
    call = VALUES["access list"](LARGE_CALL)[:-1] + b',"to":%b,"from":"%b"}' % (ADDRESS, sender)
    if "Transaction" in method:
        call = call[:-1] + b',"gas":"0xf000000","maxFeePerGas":"0x77359400"}'
    turns = Turns()
    reply = turns.answer(Conversation(development, CLIENT), message(method, params % call))
    assert b'"result"' in (reply or b""), reply
    assert turns.functions
    assert makes not in turns.functions


def test_too_many_values_are_refused_before_they_are_made(development: Dispatcher) -> None:
    params = VALUES["zeros"](1_000_000)
    reply = Turns().answer(Conversation(development, CLIENT), message("eth_feeHistory", params))
    assert json.loads(reply or b"")["error"] == {
        "code": -32602,
        "message": "the parameters have too many values, want at most 100000",
    }


def test_a_batch_is_counted_before_its_items_are_made(development: Dispatcher) -> None:
    reply = Turns().answer(
        Conversation(development, CLIENT), MESSAGES["a batch of empty objects"](WHOLE_MESSAGE)
    )
    assert json.loads(reply or b"") == [
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "batch too large"}}
    ]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("debug_traceBlockByNumber", ["0x1", {"limit": 2**63}]),
        ("debug_traceBlockByNumber", ["0x1", {"limit": 10**30}]),
        ("debug_traceBlockByNumber", ["0x1", {"limit": -(2**63) - 1}]),
        ("eth_sendTransaction", [{"to": "0x" + "11" * 20, "gas": "0x5208", "maxFeePerGas": hex(2**128)}]),
        ("eth_signTransaction", [{"to": "0x" + "11" * 20, "gas": "0x5208", "gasPrice": hex(2**128)}]),
        (
            "eth_sendUnsignedTransaction",
            [{"from": "0x" + "22" * 20, "to": "0x" + "11" * 20, "gas": "0x5208", "gasPrice": hex(2**200)}],
        ),
    ],
    ids=str,
)
def test_numbers_out_of_range_are_the_callers_mistake(
    development: Dispatcher, method: str, params: list[Any]
) -> None:
    reply = asked(development, method, *params)
    assert reply["error"]["code"] in {-32602, -32000}, reply


def asked(dispatcher: Dispatcher, method: str, *params: Any) -> dict[str, Any]:
    """Return the members of a reply."""
    text = message(method, json.dumps(params).encode())
    reply: dict[str, Any] = json.loads(Turns().answer(Conversation(dispatcher, CLIENT), text) or b"")
    return reply


def test_a_made_up_place_in_the_logs_is_no_cursor(development: Dispatcher) -> None:
    wanted = {"fromBlock": "0x0"}
    page = asked(development, "wsnode_getLogsPage", wanted)["result"]
    number, last = int(page["block"]["number"], 16), Hash32.fromhex(page["block"]["hash"][2:])
    digest = digest_of(decode_filter_object(wanted))
    first_version = [
        encode_cursor(b"\x01" + last + place.to_bytes(8, "big") + digest)
        for place in (1 << 48, (1 << 64) - 1, 1 << 20)
    ]
    made_up = [
        str(LogCursor(number, last, place, digest)) for place in ((1 << 39) - 1, -(1 << 39), 1 << 20, -1)
    ]
    for cursor in first_version + made_up:
        error = asked(development, "wsnode_getLogsPage", wanted | {"cursor": cursor})["error"]
        assert (error["code"], error["message"]) == (-32602, "invalid cursor")


def test_tracers_in_tracers_have_a_limit(development: Dispatcher) -> None:
    config: Any = {"callTracer": {}}
    for _ in range(400):
        config = {"muxTracer": config}
    error = asked(
        development, "debug_traceCall", {}, "latest", {"tracer": "muxTracer", "tracerConfig": config}
    )["error"]
    assert (error["code"], error["message"]) == (-32000, "tracers are nested more than 50 deep")


def test_a_tracers_name_is_not_repeated_for_each_transaction(development: Dispatcher) -> None:
    name = json.dumps("a" * 1_000_000).encode()
    reply = Turns().answer(
        Conversation(development, CLIENT),
        message("debug_traceBlockByNumber", b'["0x1",{"tracer":%b}]' % name),
    )
    assert len(reply or b"") < 400


def test_messages_are_cut_where_they_repeat() -> None:
    for text in ("x" * 10_000, "a b " * 10_000, "é" * 600, "word " * 3 + "y" * 101):
        message = RpcError(-32000, f"unknown thing: {text} (want less)").message
        assert len(message) <= MESSAGE_CHARACTERS
        assert max(map(len, message.split())) <= ECHO_CHARACTERS
        assert message.startswith("unknown thing: ")
        assert message.endswith("(want less)")
    short = (
        "insufficient funds for gas * price + value: address 0x" + "11" * 20 + " have 0 want " + str(2**256)
    )
    assert RpcError(-32000, short).message == short
