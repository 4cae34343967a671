import json
from typing import Any

import pytest

from tests.memory_transport import Ask, Conversation, asking, memory_transport, whole
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import NotStartedError
from wsnode.jsonrpc.work import CallTask, CancelToken, RunInThread

TARGET = "0x" + "13" * 20
# Counts down from 0x40000, then returns 42.
LONG = {TARGET: {"code": "0x620400005b6001900380600457602a5f5260205ff3"}}
FUNDED = "0x7435ed30a8b4aeb0877cef0c6e8cffe834eb865f"
FORTY_TWO = "0x" + "2a".rjust(64, "0")


def test_a_long_call_is_run_again_in_a_thread(execution_apis_chain: Chain, ask: Ask) -> None:
    assert ask("eth_call", {"to": TARGET}, "latest", LONG) == {"result": FORTY_TWO}


def test_a_long_estimate_is_run_again_in_a_thread(ask: Ask) -> None:
    # What geth says.
    assert ask("eth_estimateGas", {"to": TARGET}, "latest", LONG) == {"result": "0x692a9e"}


def test_a_short_call_is_answered_at_once(execution_apis_chain: Chain) -> None:
    dispatcher = Dispatcher(build_registry(execution_apis_chain), execution_apis_chain.snapshot)
    session = Conversation(dispatcher, None)
    request = b'{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{},"latest"]}'
    assert session.receive(request) == b'{"jsonrpc":"2.0","id":1,"result":"0x"}'
    session.end_turn()


FIVE_SLOTS = "0x" + "".join(f"600160{slot:02x}555b" for slot in range(1, 6))


def test_an_estimate_of_a_few_written_slots_is_answered_at_once(execution_apis_chain: Chain) -> None:
    session = Conversation(
        Dispatcher(build_registry(execution_apis_chain), execution_apis_chain.snapshot), None
    )
    params = [{"to": TARGET}, "latest", {TARGET: {"code": FIVE_SLOTS}}]
    request = {"jsonrpc": "2.0", "id": 1, "method": "eth_estimateGas", "params": params}
    answer = session.receive(json.dumps(request).encode())
    assert isinstance(answer, bytes)
    assert int(json.loads(answer)["result"], 16) > 21_000 + 5 * 20_000
    session.end_turn()


def test_a_call_may_have_more_gas_than_64_bits_hold(execution_apis_chain: Chain) -> None:
    registry = build_registry(execution_apis_chain, limits=CallLimits(call_gas_blocks=2**60))
    session = Conversation(Dispatcher(registry, execution_apis_chain.snapshot), None)
    request = b'{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{},"latest"]}'
    assert session.receive(request) == b'{"jsonrpc":"2.0","id":1,"result":"0x"}'
    session.end_turn()


@pytest.mark.parametrize(
    ("offset", "outcome"),
    [
        pytest.param(0x7FFFFE0, {"result": "0x" + "8000000".rjust(64, "0")}, id="128 MiB"),
        pytest.param(0x7FFFFE1, {"error": {"code": -32000, "message": "out of gas"}}, id="beyond"),
    ],
)
def test_a_call_may_have_so_much_memory_and_no_more(
    execution_apis_chain: Chain, offset: int, outcome: dict[str, Any]
) -> None:
    registry = build_registry(execution_apis_chain, limits=CallLimits(call_gas_blocks=2**60))
    ask = asking(Dispatcher(registry, execution_apis_chain.snapshot))
    # Reads the word at the offset, and returns the size of the memory then.
    code = f"0x63{offset:08x}5150595f5260205ff3"
    assert ask("eth_call", {"to": TARGET}, "latest", {TARGET: {"code": code}}) == outcome


def test_a_call_that_is_cancelled_ends_and_says_how_long_it_had(execution_apis_chain: Chain) -> None:
    registry = build_registry(execution_apis_chain, limits=CallLimits(call_seconds=0.5, call_inline_jumps=10))
    session = Conversation(Dispatcher(registry, execution_apis_chain.snapshot), None)
    request = (
        b'{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"%b"},"latest",{"%b":{"code":"0x5b5f56"}}]}'
        % (TARGET.encode(), TARGET.encode())
    )
    answer = session.receive(request)
    assert isinstance(answer, CallTask)
    assert isinstance(answer.step, RunInThread)
    token = CancelToken()
    token.set()
    assert answer.resume(answer.step.function(token))
    assert answer.reply == (
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"execution aborted (timeout = 0.5s)"}}'
    )


NEVER_BEGUN = [
    ("eth_call", [{"to": TARGET}, "latest", LONG]),
    ("eth_estimateGas", [{"to": TARGET}, "latest", LONG]),
    ("eth_createAccessList", [{"to": TARGET}, "latest", LONG]),
    ("eth_fillTransaction", [{"from": FUNDED, "data": LONG[TARGET]["code"]}]),
    ("eth_simulateV1", [{"blockStateCalls": [{"calls": [{"to": TARGET}]}]}]),
    ("debug_traceCall", [{"to": TARGET}, "latest", {"stateOverrides": LONG}]),
]


@pytest.mark.parametrize(("method", "params"), NEVER_BEGUN, ids=[method for method, _ in NEVER_BEGUN])
def test_a_call_that_was_never_begun_is_not_blamed(
    execution_apis_chain: Chain, method: str, params: list[Any]
) -> None:
    limits = CallLimits(call_inline_jumps=0)
    pool = TransactionPool(execution_apis_chain)
    registry = build_registry(execution_apis_chain, pool=pool, limits=limits)
    session = Conversation(Dispatcher(registry, execution_apis_chain.snapshot), None)
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = session.receive(json.dumps(request).encode())
    assert isinstance(answer, CallTask)
    assert isinstance(answer.step, RunInThread)
    assert answer.fail(NotStartedError())
    assert json.loads(whole(answer.reply))["error"] == {
        "code": -32005,
        "message": "the server is busy: the call was not begun in time, try again",
    }


def test_a_call_that_fails_late_in_its_budget_still_says_why(execution_apis_chain: Chain) -> None:
    # It spends six of ten and ends at an unknown opcode, whose name takes a second run.
    registry = build_registry(execution_apis_chain, limits=CallLimits(call_inline_jumps=10))
    ask = asking(Dispatcher(registry, execution_apis_chain.snapshot))
    reply = ask("eth_call", {"to": TARGET}, "latest", {TARGET: {"code": "0x5b5b5b5b5b5b0c"}})
    assert reply == {"error": {"code": -32000, "message": "invalid opcode: opcode 0xc not defined"}}


def test_pending_calls_see_the_block_to_come(ask: Ask) -> None:
    number = {TARGET: {"code": "0x4360005260206000f3"}}
    assert int(ask("eth_call", {"to": TARGET}, "latest", number)["result"], 16) == 54
    assert int(ask("eth_call", {"to": TARGET}, "pending", number)["result"], 16) == 55


def test_a_call_reads_the_state_of_the_block_that_is_named(ask: Ask) -> None:
    number = {TARGET: {"code": "0x4360005260206000f3"}}
    for block, expected in (("0x1", 1), ("earliest", 0), ({"blockNumber": "0x24"}, 0x24)):
        assert int(ask("eth_call", {"to": TARGET}, block, number)["result"], 16) == expected


def test_replies_in_one_batch_see_one_head(execution_apis_chain: Chain) -> None:
    dispatcher = Dispatcher(build_registry(execution_apis_chain), execution_apis_chain.snapshot)
    calls = [{"jsonrpc": "2.0", "id": id, "method": "eth_blockNumber"} for id in (1, 2)]
    reply = memory_transport(dispatcher, None)(json.dumps(calls))
    assert reply is not None
    assert [answer["result"] for answer in json.loads(reply)] == ["0x36", "0x36"]
