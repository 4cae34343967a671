"""What calls learn whose time is up: those that ran, and those whose turn never came."""

import json
from collections.abc import Generator
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.memory_transport import whole
from tests.server.conftest import Gate, View, finish
from tests.server.turns.test_collector import cycles
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.session import Session
from wsnode.jsonrpc.work import AsyncCall, CancelToken, InThread, Reply, SlowCall, Step
from wsnode.server.limits import Limits
from wsnode.server.turns.making import Account
from wsnode.server.turns.slow_lane import SlowLane

SECONDS = 5.0
ABORTED = {"code": -32000, "message": "execution aborted (timeout = 5s)"}
BUSY = {"code": -32005, "message": "the server is busy: the call was not begun in time, try again"}


def fail(_cancel: CancelToken) -> None:
    raise ValueError("no")


def dispatcher(gate: Gate) -> Dispatcher:
    methods = Registry()
    timed_out = server_error("execution aborted (timeout = 5s)")

    @methods.method("wait", deadline=SECONDS, timeout_error=timed_out)
    def wait(view: View) -> Generator[Step, Any, Any]:
        return (yield InThread(view.gate.pass_through))

    @methods.method("listen", deadline=SECONDS, timeout_error=timed_out)
    def listen(_view: View) -> Generator[Step, Any, Any]:
        return (yield AsyncCall(trio.sleep_forever))

    @methods.method("wait_twice", deadline=SECONDS, timeout_error=timed_out)
    def wait_twice(view: View) -> Generator[Step, Any, Any]:
        yield InThread(lambda _cancel: None)
        return (yield InThread(view.gate.pass_through))

    @methods.method("translate", deadline=SECONDS, timeout_error=timed_out)
    def translate(_view: View) -> Generator[Step, Any, Any]:
        try:
            return (yield InThread(fail))
        except ValueError:
            raise server_error("it failed") from None

    return Dispatcher(methods, lambda _caller: View(gate), clock=trio.current_time)


def begun(calls: Dispatcher, method: str) -> SlowCall:
    session = Session(calls, None)
    pending = session.receive(b'{"jsonrpc":"2.0","id":1,"method":"%b"}' % method.encode())
    assert isinstance(pending, SlowCall)
    return pending


async def errors_after_the_limit(lane: SlowLane, pendings: list[SlowCall], clock: MockClock) -> list[Any]:
    """Return the errors of calls that came one after another, each of its own client, when time is up."""

    async with trio.open_nursery() as nursery:
        for key, pending in enumerate(pendings):
            nursery.start_soon(finish, lane, pending, key, Account(lane.making, 1 << 20))
            await wait_all_tasks_blocked()
        clock.jump(SECONDS)
    return [json.loads(whole(pending.reply))["error"] for pending in pendings]


async def test_a_call_that_has_ended_holds_its_reply_for_nobody_who_still_knows_it() -> None:
    lane = SlowLane(Limits())
    call = begun(dispatcher(Gate()), "translate")
    assert await lane.finish(call, "key", Account(lane.making, 1 << 20)) is not None
    assert call.reply is None


@pytest.mark.parametrize("method", ["wait", "wait_twice"])
async def test_a_call_whose_turn_never_came_is_told_that_the_server_is_busy(
    mock_clock: MockClock, method: str
) -> None:
    gate, lane = Gate(), SlowLane(Limits(threads=1))
    calls = dispatcher(gate)
    pendings = [begun(calls, "wait"), begun(calls, method), begun(calls, "wait")]
    assert await errors_after_the_limit(lane, pendings, mock_clock) == [ABORTED, BUSY, BUSY]
    assert gate.entered <= 1
    assert gate.closed == 0


async def test_what_waits_for_no_thread_has_begun(mock_clock: MockClock) -> None:
    lane = SlowLane(Limits(threads=1))
    calls = dispatcher(Gate())
    pendings = [begun(calls, "wait"), begun(calls, "listen")]
    assert await errors_after_the_limit(lane, pendings, mock_clock) == [ABORTED, ABORTED]


async def test_threads_are_free_again_after_calls_that_were_never_begun(mock_clock: MockClock) -> None:
    lane = SlowLane(Limits(threads=1))
    calls = dispatcher(Gate())
    await errors_after_the_limit(lane, [begun(calls, "wait") for _ in range(3)], mock_clock)
    assert lane.workers.waiting == 0
    assert await lane.workers.run("key", lambda _cancel: 5) == 5


async def test_a_call_that_failed_in_a_thread_leaves_nothing_for_the_collector() -> None:
    lane, calls, replies = SlowLane(Limits(threads=1)), dispatcher(Gate()), list[Reply | None]()
    account = Account(lane.making, 1 << 20)
    with cycles() as found:
        for _ in range(3):
            replies.append(await lane.finish(begun(calls, "translate"), "key", account))
    errors = [json.loads(whole(reply))["error"] for reply in replies]
    assert errors == 3 * [{"code": -32000, "message": "it failed"}]
    assert found == []
