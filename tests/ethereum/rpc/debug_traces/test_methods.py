from collections.abc import Callable
from typing import Any

import pytest

from tests.memory_transport import Ask, asking
from tests.reply_schemas import ReplySchemas, validating
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.debug_traces.methods import seconds_of
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher

CREATION = "0xc1d605c6612a5fe84dc95810030bfe5b1d327652b381bc695e28f50d13b2b09e"
SENDER = "0x0c2c51a0990aee1d73c1228de158688341557508"
TARGET = "0x" + "13" * 20
CALLEE = "0x" + "14" * 20
ENDLESS = "0x5b5f56"


@pytest.fixture(scope="module")
def ask(dispatcher: Dispatcher) -> Ask:
    """Return what calls a method, whose result has to fit the document."""
    return validating(asking(dispatcher))


def traced(ask: Ask, code: str, callee: str = "0x", gas: int = 200_000, **options: Any) -> Any:
    """Return the trace of a call of `code`, which finds `callee` at another address."""
    overrides = {TARGET: {"code": code}, CALLEE: {"code": callee}}
    call = {"from": SENDER, "to": TARGET, "gas": hex(gas)}
    return ask("debug_traceCall", call, "latest", {"stateOverrides": overrides, **options})["result"]


def test_each_step_is_a_log_with_what_it_meets(ask: Ask) -> None:
    trace = traced(ask, "0x60015f5500")
    assert [log["op"] for log in trace["structLogs"]] == ["PUSH1", "PUSH0", "SSTORE", "STOP"]
    slot, value = "0x" + "00" * 32, "0x" + "01".rjust(64, "0")
    assert trace["structLogs"][2] == {
        "pc": 3,
        "op": "SSTORE",
        "gas": 178_995,
        "gasCost": 22_100,
        "depth": 1,
        "stack": ["0x1", "0x0"],
        "storage": {slot: value},
    }
    assert (trace["gas"], trace["failed"], trace["returnValue"]) == (43_105, False, "0x")


def test_logs_hold_no_more_than_is_asked_for(ask: Ask) -> None:
    plain = traced(ask, "0x60015f5200", disableStack=True)["structLogs"]
    assert all("stack" not in log and "memory" not in log for log in plain)
    full = traced(ask, "0x60015f5200", enableMemory=True)["structLogs"]
    assert full[3]["memory"] == ["0x" + "01".rjust(64, "0")]
    assert len(traced(ask, "0x60015f5200", limit=1)["structLogs"]) == 1


@pytest.mark.parametrize(
    ("code", "gas", "cost", "words"),
    [
        ("0x01", 200_000, 3, "stack underflow (0 <=> 2)"),
        ("0x60015f55", 24_000, 22_100, "out of gas"),
        ("0x60015f55", 21_105, 0, "out of gas: not enough gas for reentrancy sentry"),
        ("0x5f54", 22_000, 2100, "out of gas"),
        ("0x61ffff5f20", 23_000, 30 + 6 * 2048 + 3 * 2048 + 2048 * 2048 // 512, "out of gas"),
        ("0x600168ffffffffffffffffff52", 200_000, 3, "gas uint64 overflow"),
        ("0x5f5f5f5f5f73" + CALLEE[2:] + "5ff1", 22_000, 100, "out of gas: out of gas"),
        ("0xfe", 200_000, 0, None),
        ("0x5f56", 200_000, 8, None),
    ],
)
def test_a_step_that_fails_says_what_it_wanted(
    ask: Ask, code: str, gas: int, cost: int, words: str | None
) -> None:
    # What geth says.
    trace = traced(ask, code, gas=gas)
    last = trace["structLogs"][-1]
    assert (last["gasCost"], last.get("error")) == (cost, words)
    assert trace["failed"]


def test_calls_are_a_tree(ask: Ask) -> None:
    log_and_revert = "0x5f5fa0" + "5f5ffd"
    trace = traced(
        ask,
        "0x5f5fa0" + "5f" * 5 + "73" + CALLEE[2:] + "5af1" + "30ff",
        log_and_revert,
        tracer="callTracer",
        tracerConfig={"withLog": True},
    )
    (inner, destruct), (log,) = trace["calls"], trace["logs"]
    assert (inner["type"], inner["to"], inner["error"]) == ("CALL", CALLEE, "execution reverted")
    assert "logs" not in inner
    assert (destruct["type"], destruct["from"], destruct["to"]) == ("SELFDESTRUCT", TARGET, TARGET)
    assert (log["address"], log["index"], log["position"]) == (TARGET, "0x0", "0x0")


def test_the_state_before_and_the_changes_are_told_apart(ask: Ask) -> None:
    before = traced(ask, "0x60015f5500", tracer="prestateTracer")
    assert before[TARGET]["storage"] == {"0x" + "00" * 32: "0x" + "00" * 32}
    changes = traced(ask, "0x60015f5500", tracer="prestateTracer", tracerConfig={"diffMode": True})
    assert changes["post"][TARGET] == {"storage": {"0x" + "00" * 32: "0x" + "01".rjust(64, "0")}}


def test_several_tracers_see_one_run(ask: Ask) -> None:
    config: dict[str, Any] = {"callTracer": {}, "4byteTracer": None, "noopTracer": {}}
    trace = traced(ask, "0x00", tracer="muxTracer", tracerConfig=config)
    assert trace.keys() == config.keys()
    assert (trace["4byteTracer"], trace["callTracer"]["type"]) == ({}, "CALL")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda trace: trace.pop("type"),
        lambda trace: trace.update(gas=1),
        lambda trace: trace["calls"][0].update(extra="0x1"),
        lambda trace: trace["logs"][0].pop("position"),
    ],
)
def test_the_document_refuses_traces_of_another_shape(ask: Ask, spoil: Callable[[Any], object]) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="replies are validated with jsonschema")
    code = "0x5f5fa0" + "5f" * 5 + "73" + CALLEE[2:] + "5af100"
    trace = traced(ask, code, tracer="callTracer", tracerConfig={"withLog": True})
    spoil(trace)
    with pytest.raises(jsonschema.ValidationError):
        ReplySchemas(ask("rpc.discover")["result"]).validate("debug_traceCall", trace)


def test_a_stored_transaction_is_traced_where_it_stands(ask: Ask) -> None:
    alone = ask("debug_traceTransaction", CREATION, {"tracer": "flatCallTracer"})["result"]
    block = ask("debug_traceBlockByNumber", "0x1", {"tracer": "flatCallTracer"})["result"]
    assert {"txHash": CREATION, "result": alone} in block
    assert (alone[0]["type"], alone[0]["blockNumber"]) == ("create", 1)


def test_a_call_can_stand_between_transactions(ask: Ask) -> None:
    # Every transaction pays the miner, whose balance this returns.
    overrides = {TARGET: {"code": "0x413160005260206000f3"}}

    def balance_before(index: str | None) -> int:
        options = {"stateOverrides": overrides, "txIndex": index}
        reply = ask("debug_traceCall", {"to": TARGET}, "0x2", options)
        return int(reply["result"]["returnValue"], 16)

    assert balance_before("0x0") < balance_before("0x5") < balance_before(None)


def test_what_cannot_be_traced_is_refused(ask: Ask) -> None:
    for method, params, message in (
        ("debug_traceCall", [{}, "pending"], "tracing on top of pending is not supported"),
        ("debug_traceCall", [{}, "0x99"], "block #153 not found"),
        ("debug_traceCall", [{"gas": "0x1"}], "tracing failed: intrinsic gas too low: have 1, want 53000"),
        (
            "debug_traceTransaction",
            [CREATION, {"tracer": "no"}],
            "ReferenceError: no is not defined at <eval>:1:2(0)",
        ),
        ("debug_traceTransaction", [CREATION, {"timeout": "5"}], 'time: missing unit in duration "5"'),
        (
            "debug_traceTransaction",
            [CREATION, {"tracer": "callTracer", "tracerConfig": {"withLog": 1}}],
            "json: cannot unmarshal number into Go struct field callTracerConfig.withLog of type bool",
        ),
    ):
        assert ask(method, *params)["error"] == {"code": -32000, "message": message}


SCRIPT = "{step: function() {}, fault: function() {}, result: function() { return 1; }}"


@pytest.mark.parametrize(
    ("tracer", "message"),
    [
        (SCRIPT, "tracers in JavaScript are not supported"),
        ("erc7562Tracer", "tracer erc7562Tracer is not supported"),
        ("keccak256PreimageTracer", "tracer keccak256PreimageTracer is not supported"),
    ],
)
def test_tracers_that_only_geth_has_are_refused_by_a_reason(ask: Ask, tracer: str, message: str) -> None:
    for method, *params in (
        ("debug_traceTransaction", CREATION),
        ("debug_traceCall", {"to": TARGET}, "latest"),
    ):
        error = ask(method, *params, {"tracer": tracer})["error"]
        assert (error["code"], error["message"]) == (-32000, message)
        assert error["data"]["reason"] == "unsupported_tracer"
        for name in error["data"]["supported"]:
            assert "result" in ask(method, *params, {"tracer": name})
    # As geth runs a script, each transaction has an error of its own.
    block = ask("debug_traceBlockByNumber", "0x1", {"tracer": tracer})
    if tracer == SCRIPT:
        assert {"txHash": CREATION, "error": message} in block["result"]
    else:
        assert block["error"]["message"] == message


def test_a_trace_ends_when_its_time_is_up(execution_apis_chain: Chain) -> None:
    limits = CallLimits(trace_seconds=0.05)
    ask = asking(
        Dispatcher(build_registry(execution_apis_chain, limits=limits), execution_apis_chain.snapshot)
    )
    options = {"stateOverrides": {TARGET: {"code": ENDLESS}}, "tracer": "prestateTracer"}
    reply = ask("debug_traceCall", {"to": TARGET}, "latest", options)
    assert reply == {"error": {"code": -32000, "message": "execution timeout"}}


def test_a_trace_ends_when_it_grows_too_large(execution_apis_chain: Chain) -> None:
    limits = CallLimits(trace_bytes=10_000)
    ask = asking(
        Dispatcher(build_registry(execution_apis_chain, limits=limits), execution_apis_chain.snapshot)
    )
    options = {"stateOverrides": {TARGET: {"code": ENDLESS}}}
    reply = ask("debug_traceCall", {"to": TARGET}, "latest", options)
    assert reply == {"error": {"code": -32003, "message": "response too large"}}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5s", 5), ("1m1.5s", 61.5), ("-2ms", -0.002), ("0", 0), (".5h", 1800), ("1µs", 1e-6)],
)
def test_durations_are_read_as_go_reads_them(text: str, seconds: float) -> None:
    assert seconds_of(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "-", "1", "1x", "1.5.5s", "1s2"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="time: "):
        seconds_of(text)
