"""trace_… beside flatCallTracer and struct logs, which are geth's, and within its own bounds."""

import json
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.ethereum.rpc.parity_traces.flat_traces import FLAT, comparable, differing, words
from tests.memory_transport import Ask, asking, memory_transport
from tests.node_process import PATIENCE
from tests.reply_schemas import validating
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher

pytestmark = pytest.mark.slow

SENDER: Final = "0x0c2c51a0990aee1d73c1228de158688341557508"
TARGET: Final = "0x" + "13" * 20
CALLEE: Final = "0x" + "14" * 20
UNKNOWN: Final = "0x" + "11" * 32
ENDLESS: Final = "0x5b5f56"
ALL_TYPES: Final = ["trace", "vmTrace", "stateDiff"]


@pytest.fixture(scope="module")
def ask(dispatcher: Dispatcher) -> Ask:
    """Return what calls a method, whose result has to fit the document."""
    return validating(asking(dispatcher))


@pytest.fixture(scope="module")
def head(ask: Ask) -> int:
    """Return the number of the last block."""
    return int(ask("eth_blockNumber")["result"], 16)


@pytest.fixture(scope="module")
def traces(ask: Ask, head: int) -> list[dict[str, Any]]:
    """Return all traces of the chain."""
    return [trace for number in range(head + 1) for trace in ask("trace_block", hex(number))["result"]]


def limited(chain: Chain, **limits: Any) -> Ask:
    registry = build_registry(chain, limits=CallLimits(**limits))
    return asking(Dispatcher(registry, chain.snapshot))


def test_stored_transactions_do_what_the_flat_tracer_says(
    ask: Ask, head: int, traces: list[dict[str, Any]]
) -> None:
    flat = [
        trace
        for number in range(1, head + 1)
        for traced in ask("debug_traceBlockByNumber", hex(number), FLAT)["result"]
        for trace in traced["result"]
    ]
    assert len(flat) > 100
    of_transactions = [trace for trace in traces if trace["type"] != "reward"]
    assert list(map(comparable, of_transactions)) == list(map(comparable, flat))


PIECES: Final = (
    *(
        "5f",
        "6001",
        "60ff",
        "50",
        "01",
        "55",
        "54",
        "52",
        "51",
        "5b",
        "5a",
        "34",
        "36",
        "3d",
        "20",
        "f3",
        "fd",
    ),
    *("00", "fe", "ff", "a0", "600160005500", "60015f5500"),
    *(f"5f5f5f5f5f73{CALLEE[2:]}5af1", f"5f5f5f5f600173{CALLEE[2:]}5af1", f"5f5f5f5f73{CALLEE[2:]}5af4"),
    *(f"5f5f5f5f73{CALLEE[2:]}5afa", "60205f60205f5f60025af1", "60205f60205f5f60085af1", "60205f5f3e"),
    *("7f60015ff300" + "00" * 26 + "5f5260045f5ff0", "7f5f5ffd" + "00" * 29 + "5f5260035f5f5ff5"),
)


def programs(*, is_inner: bool) -> st.SearchStrategy[str]:
    """Return programs of some pieces, which end with STOP; inner ones call no other account."""
    pieces = [piece for piece in PIECES if not (is_inner and CALLEE[2:] in piece)]
    return st.lists(st.sampled_from(pieces), max_size=12).map(lambda program: "".join(program) + "00")


def without_place(trace: dict[str, Any]) -> dict[str, Any]:
    """Return a trace as calls have it, without a block and a transaction."""
    places = ("blockHash", "blockNumber", "transactionHash", "transactionPosition")
    return {name: value for name, value in trace.items() if name not in places}


@settings(deadline=None, max_examples=examples(50))
@given(programs(is_inner=False), programs(is_inner=True), st.integers(21_000, 200_000))
def test_calls_do_what_the_flat_tracer_and_the_struct_logs_say(
    ask: Ask, code: str, callee: str, gas: int
) -> None:
    call = {"from": SENDER, "to": TARGET, "gas": hex(gas)}
    overrides = {TARGET: {"code": f"0x{code}", "balance": "0x2"}, CALLEE: {"code": f"0x{callee}"}}
    results = ask("trace_call", call, ["trace", "vmTrace"], "latest", overrides)["result"]
    flat = ask("debug_traceCall", call, "latest", {**FLAT, "stateOverrides": overrides})["result"]
    expected = [words(comparable(without_place(trace))) for trace in flat]
    found = list(map(comparable, results["trace"]))
    if places := differing(found, expected):
        # The EVM asks for the gas of an instruction before it looks at the stack, geth the other way
        # round; and geth finds out that a slot must not be written when it asks for the gas.
        errors = {(found[place].pop("error"), expected[place].pop("error")) for place in places}
        assert errors <= {("Out of gas", "Stack underflow"), ("Mutable Call In Static Context", "Out of gas")}
        assert found == expected
        return
    logs = ask("debug_traceCall", call, "latest", {"stateOverrides": overrides})["result"]["structLogs"]
    # What is no instruction or has not enough on the stack does not begin.
    begun = [log for log in logs if "stack underflow" not in log.get("error", "") and log["op"] != "INVALID"]
    assert flattened(results["vmTrace"], 1) == [(log["depth"], log["pc"], log["op"]) for log in begun]


def flattened(trace: dict[str, Any], depth: int) -> list[tuple[int, int, str]]:
    """Return depth, place and name of all steps, in the order in which they began."""
    steps = []
    for step in trace["ops"]:
        steps.append((depth, step["pc"], step["op"]))
        if step["sub"] is not None:
            steps += flattened(step["sub"], depth + 1)
    return steps


def test_blocks_of_proof_of_work_pay_their_miners(traces: list[dict[str, Any]], ask: Ask) -> None:
    rewards = [trace for trace in traces if trace["type"] == "reward"]
    assert rewards
    for reward in rewards:
        block = ask("eth_getBlockByHash", reward["blockHash"], False)["result"]
        assert int(block["difficulty"], 16) > 0
        author = reward["action"]["author"]
        before, after = (
            int(ask("eth_getBalance", author, hex(reward["blockNumber"] - back))["result"], 16)
            for back in (1, 0)
        )
        value = int(reward["action"]["value"], 16)
        assert after - before >= value
        if reward["action"]["rewardType"] == "block":
            assert author == block["miner"]
            assert value * 32 // (32 + len(block["uncles"])) in (5 * 10**18, 3 * 10**18, 2 * 10**18)
        assert (reward["transactionHash"], reward["result"], reward["traceAddress"]) == (None, None, [])


def test_a_place_names_one_trace_of_a_transaction(ask: Ask, traces: list[dict[str, Any]]) -> None:
    of_transactions = [trace for trace in traces if trace["type"] != "reward"]
    assert len(of_transactions) > 20
    for trace in sorted(of_transactions, key=lambda trace: -len(trace["traceAddress"]))[:21]:
        place = trace["traceAddress"]
        assert ask("trace_get", trace["transactionHash"], place)["result"] == trace
        assert ask("trace_get", trace["transactionHash"], list(map(hex, place)))["result"] == trace
        assert ask("trace_get", trace["transactionHash"], [*place, 99])["result"] is None
        assert trace in ask("trace_transaction", trace["transactionHash"])["result"]


def test_a_block_is_replayed_as_each_of_its_transactions_is(ask: Ask, head: int) -> None:
    for number in range(1, head + 1, 11):
        for results in ask("trace_replayBlockTransactions", hex(number), ALL_TYPES)["result"]:
            alone = ask("trace_replayTransaction", results.pop("transactionHash"), ALL_TYPES)
            assert alone["result"] == results


def addresses(trace: dict[str, Any]) -> tuple[set[str], set[str]]:
    """Return the sender and the recipient of a trace."""
    action, result = trace["action"], trace.get("result") or {}
    origins = {action[name] for name in ("from", "address") if name in action}
    targets = {action[name] for name in ("to", "refundAddress", "author") if name in action}
    return origins, targets | ({result["address"]} if "address" in result else set())


def test_a_filter_finds_what_is_from_and_to_its_addresses(ask: Ask, traces: list[dict[str, Any]]) -> None:
    seen = sorted({name for trace in traces for names in addresses(trace) for name in names})
    for index in range(0, len(seen), 3):
        one, other = seen[index], seen[(index + 7) % len(seen)]
        for mode, both in (("intersection", all), ("union", any)):
            found = ask("trace_filter", {"fromAddress": [one], "toAddress": [other, one], "mode": mode})
            expected = [
                trace
                for trace in traces
                if both((one in addresses(trace)[0], {one, other} & addresses(trace)[1]))
            ]
            assert found["result"] == expected


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 400), st.none() | st.integers(0, 400))
@settings(deadline=None, max_examples=examples(30))
def test_a_filter_returns_some_of_what_it_finds(
    ask: Ask, head: int, traces: list[dict[str, Any]], one: int, other: int, after: int, count: int | None
) -> None:
    first, last = sorted((min(one, head), min(other, head)))
    wanted: dict[str, Any] = {"fromBlock": hex(first), "toBlock": hex(last), "after": after}
    if count is not None:
        wanted["count"] = count
    found = ask("trace_filter", wanted)["result"]
    within = [trace for trace in traces if first <= trace["blockNumber"] <= last]
    assert found == within[after:][:count]


def test_a_filter_ends_at_its_limits(
    ask: Ask, execution_apis_chain: Chain, traces: list[dict[str, Any]]
) -> None:
    few = limited(execution_apis_chain, trace_filter_results=10)
    error = few("trace_filter", {"fromBlock": "0x0"})["error"]
    assert (error["code"], error["message"]) == (-32005, "query returned more than 10 results")
    proposed = {"fromBlock": error["data"]["from"], "toBlock": error["data"]["to"]}
    assert 0 < len(few("trace_filter", proposed)["result"]) <= 10
    assert few("trace_filter", {"after": 20, "count": 10})["result"] == traces[20:30]
    assert "error" in few("trace_filter", {"after": 20, "count": 11})
    small = limited(execution_apis_chain, trace_bytes=2000)
    assert small("trace_filter", {})["error"]["code"] == -32003
    names = limited(execution_apis_chain, logs_parameters=1)
    error = names("trace_filter", {"fromAddress": [TARGET, CALLEE]})["error"]
    assert (error["code"], error["data"]) == (-32602, {"count": 2, "limit": 1})


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ([{"fromBlock": "0x5", "toBlock": "0x1"}], "invalid block range params"),
        ([{"toBlock": "0xffff"}], "block range extends beyond current head block"),
        ([{"toBlock": "pending"}], "pending traces are not supported"),
        ([{"mode": "neither"}], "invalid argument 0: mode must be one of intersection, union"),
        (
            [{"count": -1}],
            "invalid argument 0: json: cannot unmarshal number -1 into Go value of type uint64",
        ),
        (
            [{"fromAddress": TARGET}],
            "invalid argument 0: json: cannot unmarshal string into Go struct field "
            "TraceFilter.fromAddress of type []common.Address",
        ),
        ([4], "invalid argument 0: json: cannot unmarshal number into Go value of type TraceFilter"),
    ],
)
def test_a_malformed_filter_is_refused(ask: Ask, params: list[Any], message: str) -> None:
    assert ask("trace_filter", *params)["error"] == {"code": -32602, "message": message}


def test_what_is_not_there_is_null_or_said(ask: Ask) -> None:
    for method, params in (
        ("trace_transaction", [UNKNOWN]),
        ("trace_get", [UNKNOWN, [0]]),
        ("trace_block", ["0xffff"]),
        ("trace_block", [UNKNOWN]),
        ("trace_replayBlockTransactions", ["0xffff", []]),
    ):
        assert ask(method, *params)["result"] is None
    error = {"code": -32000, "message": "transaction not found"}
    assert ask("trace_replayTransaction", UNKNOWN, [])["error"] == error
    assert ask("trace_block", "0x0")["result"] == []
    assert ask("trace_block", "pending")["result"] == []
    error = ask("trace_call", {"to": TARGET}, ["everything"])["error"]
    message = 'invalid argument 1: unknown trace type "everything", want one of trace, vmTrace, stateDiff'
    assert error == {"code": -32602, "message": message}
    assert ask("trace_callMany", [[{"to": TARGET}]])["error"]["code"] == -32602


def test_calls_see_what_the_ones_before_them_did(ask: Ask) -> None:
    # Init code of a contract, and of one that returns the balance of an address.
    gift = [{"from": SENDER, "to": TARGET, "value": "0x5"}, ["stateDiff"]]
    look = [{"from": SENDER, "data": "0x73" + TARGET[2:] + "315f5260205ff3"}, ["trace"]]
    gift_again = [{"from": SENDER, "to": TARGET, "value": "0x2"}, ["stateDiff"]]
    first, second, third, fourth = ask("trace_callMany", [gift, look, gift_again, look])["result"]
    assert first["stateDiff"][TARGET]["balance"] == {"+": "0x5"}
    assert (int(second["output"], 16), int(fourth["output"], 16)) == (5, 7)
    assert third["stateDiff"][TARGET]["balance"] == {"*": {"from": "0x5", "to": "0x7"}}
    assert ask("trace_callMany", [look])["result"] == [ask("trace_call", *look)["result"]]
    assert ask("trace_callMany", [])["result"] == []


def test_a_call_sees_what_is_overridden(ask: Ask) -> None:
    call = {"from": SENDER, "to": TARGET}
    code = {TARGET: {"code": "0x435f5260205ff3"}}
    results = ask("trace_call", call, ["trace"], "latest", code, {"number": "0x1234"})["result"]
    assert int(results["output"], 16) == 0x1234
    error = ask("trace_call", {**call, "value": hex(1 << 200)}, [])["error"]
    assert error["message"].startswith("tracing failed: insufficient funds for gas * price + value")


def test_a_signed_transaction_does_in_a_trace_what_it_did_in_its_block(ask: Ask, head: int) -> None:
    compared = 0
    for number in range(1, head + 1):
        block = ask("eth_getBlockByNumber", hex(number), True)["result"]
        if not block["transactions"]:
            continue
        first = block["transactions"][0]
        raw = ask("debug_getRawTransaction", first["hash"])["result"]
        traced = ask("trace_rawTransaction", raw, ALL_TYPES, hex(number - 1))
        if "error" in traced:
            # The block before may have other base fees, rules and gas limits.
            assert traced["error"]["message"].startswith("tracing failed: ")
            continue
        alone = ask("trace_replayTransaction", first["hash"], ["trace"])["result"]
        compared += traced["result"]["trace"] == alone["trace"]
        again = ask("trace_rawTransaction", raw, ["trace"], hex(number))["error"]["message"]
        assert "nonce" in again
    assert compared > 5
    assert ask("trace_rawTransaction", "0x01", [])["error"]["code"] == -32000


def test_traces_end_at_their_limits(execution_apis_chain: Chain) -> None:
    overrides = {TARGET: {"code": ENDLESS}}
    call = {"from": SENDER, "to": TARGET, "gas": hex(30_000_000)}
    small = limited(execution_apis_chain, trace_bytes=20_000, trace_seconds=PATIENCE)
    for types in (["vmTrace"], ALL_TYPES):
        assert small("trace_call", call, types, "latest", overrides)["error"]["code"] == -32003
    assert "result" in small("trace_call", call, ["trace"], "latest", overrides)
    late = limited(execution_apis_chain, trace_seconds=1e-6)
    error = late("trace_call", call, ["trace"], "latest", overrides)["error"]
    assert error == {"code": -32000, "message": "execution timeout"}
    many = [[call, ["trace"]]] * 200
    assert small("trace_callMany", many)["error"]["code"] == -32003


def test_a_chain_of_a_thousand_calls_is_answered(dispatcher: Dispatcher) -> None:
    # Calls itself with all gas until the depth or the gas ends; Python reads nothing that deep.
    overrides = {TARGET: {"code": "0x5f5f5f5f5f305af1"}}
    params = [{"from": SENDER, "to": TARGET, "gas": hex(1 << 62)}, ALL_TYPES, "latest", overrides]
    request = {"jsonrpc": "2.0", "id": 1, "method": "trace_call", "params": params}
    reply = memory_transport(dispatcher, None)(json.dumps(request))
    assert reply is not None
    assert (reply.count('"callType"') > 500, reply.count('"sub":{') > 500) == (True, True)
