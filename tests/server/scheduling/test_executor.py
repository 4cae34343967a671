"""What calls learn whose time is up: those that ran, and those whose turn never came."""

import json
import time
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.memory_transport import Conversation, whole
from tests.server.conftest import Gate, View, finish
from tests.server.scheduling.test_gc_policy import cycles
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.session_limits import SessionBounds
from wsnode.jsonrpc.work import Await, CallTask, CancelToken, Reply, RunInThread, Step
from wsnode.server.limits import Limits
from wsnode.server.scheduling.client_quota import ClientQuota
from wsnode.server.scheduling.executor import TaskExecutor
from wsnode.server.scheduling.fair_limiter import FairLimiter
from wsnode.server.scheduling.resources import Resources

SECONDS = 5.0
WAIT = 4.0
ABORTED = {"code": -32000, "message": "execution aborted (timeout = 5s)"}
BUSY = {"code": -32005, "message": "the server is busy: the call was not begun in time, try again"}


class Numbered(msgspec.Struct, array_like=True, frozen=True):
    number: int


def fail(_cancel: CancelToken) -> None:
    raise ValueError("no")


def dispatcher(gate: Gate) -> Dispatcher:
    methods = Registry()
    timed_out = server_error("execution aborted (timeout = 5s)")

    @methods.method("wait", deadline=SECONDS, timeout_error=timed_out)
    def wait(view: View) -> Generator[Step, Any, Any]:
        return (yield RunInThread(view.gate.pass_through))

    @methods.method("listen", deadline=SECONDS, timeout_error=timed_out)
    def listen(_view: View) -> Generator[Step, Any, Any]:
        return (yield Await(trio.sleep_forever))

    @methods.method("wait_twice", deadline=SECONDS, timeout_error=timed_out)
    def wait_twice(view: View) -> Generator[Step, Any, Any]:
        yield RunInThread(lambda _cancel: None)
        return (yield RunInThread(view.gate.pass_through))

    @methods.method("translate", deadline=SECONDS, timeout_error=timed_out)
    def translate(_view: View) -> Generator[Step, Any, Any]:
        try:
            return (yield RunInThread(fail))
        except ValueError:
            raise server_error("it failed") from None

    bounds = SessionBounds(call_wait_seconds=WAIT)
    return Dispatcher(methods, lambda _caller: View(gate), bounds=bounds, clock=trio.current_time)


def begun(calls: Dispatcher, method: str) -> CallTask:
    session = Conversation(calls, None)
    pending = session.receive(b'{"jsonrpc":"2.0","id":1,"method":"%b"}' % method.encode())
    assert isinstance(pending, CallTask)
    return pending


async def errors_after_the_limit(
    executor: TaskExecutor, pendings: list[CallTask], clock: MockClock
) -> list[Any]:
    """Return the errors of calls that came one after another, each of its own client, when time is up."""

    async with trio.open_nursery() as nursery:
        for key, pending in enumerate(pendings):
            nursery.start_soon(finish, executor, pending, key, ClientQuota(executor.resources, limit=1 << 20))
            await wait_all_tasks_blocked()
        clock.jump(SECONDS)
    return [json.loads(whole(pending.reply))["error"] for pending in pendings]


async def test_a_call_that_has_ended_holds_its_reply_for_nobody_who_still_knows_it() -> None:
    executor = TaskExecutor(Resources(Limits()))
    call = begun(dispatcher(Gate()), "translate")
    assert await executor.finish(call, "key", ClientQuota(executor.resources, limit=1 << 20)) is not None
    assert call.reply is None


@pytest.mark.parametrize("method", ["wait", "wait_twice"])
async def test_a_call_whose_turn_never_came_is_told_that_the_server_is_busy(
    mock_clock: MockClock, method: str
) -> None:
    gate, executor = Gate(), TaskExecutor(Resources(Limits(threads=1)))
    calls = dispatcher(gate)
    pendings = [begun(calls, "wait"), begun(calls, method), begun(calls, "wait")]
    assert await errors_after_the_limit(executor, pendings, mock_clock) == [ABORTED, BUSY, BUSY]
    assert gate.entered <= 1
    assert gate.closed == 0
    waits = [calls.registry.methods[name].waits for name in dict.fromkeys(("wait", method))]
    assert sum(each.refused for each in waits) == 2
    assert sum(sum(each.counts) for each in waits) == 3
    assert sum(each.seconds for each in waits) == pytest.approx(2 * WAIT, abs=0.1)


async def test_the_time_of_a_call_is_what_it_runs_and_not_what_it_waits(mock_clock: MockClock) -> None:
    gates, executor = (Gate(), Gate()), TaskExecutor(Resources(Limits(threads=1)))
    pendings = [begun(dispatcher(gate), "wait") for gate in gates]
    async with trio.open_nursery() as nursery:
        for key, pending in enumerate(pendings):
            nursery.start_soon(finish, executor, pending, key, ClientQuota(executor.resources, limit=1 << 20))
            await wait_all_tasks_blocked()
        mock_clock.jump(WAIT - 0.5)
        gates[0].opened = 1
        await trio.to_thread.run_sync(wait_for, lambda: gates[1].entered)
        mock_clock.jump(SECONDS - 0.5)
        gates[1].opened = 1
    assert [json.loads(whole(pending.reply))["result"] for pending in pendings] == 2 * ["passed"]


def wait_for(condition: Callable[[], Any]) -> None:
    """Wait for a thread, beside a clock that stands still."""
    while not condition():
        time.sleep(0.001)


async def test_of_one_client_the_call_that_began_first_ends_first() -> None:
    executor, methods, ended = TaskExecutor(Resources(Limits())), Registry(), list[int]()

    @methods.method("slices", view=False)
    def slices(params: Numbered) -> Generator[Step, Any, int]:
        for _ in range(5):
            yield None
        ended.append(params.number)
        return params.number

    calls = Dispatcher(methods, lambda _caller: View(Gate()), clock=trio.current_time)
    async with trio.open_nursery() as nursery:
        for number in range(8):
            text = b'{"jsonrpc":"2.0","id":1,"method":"slices","params":[%d]}' % number
            pending = Conversation(calls, None).receive(text)
            assert isinstance(pending, CallTask)
            nursery.start_soon(
                finish,
                executor,
                pending,
                "client",
                ClientQuota(executor.resources, limit=1 << 20),
            )
    # A call hands its turn on before it asks for another one, so the two oldest alternate.
    assert sorted(ended) == list(range(8))
    assert all(abs(number - place) <= 1 for place, number in enumerate(ended)), ended


async def test_a_reader_waits_for_one_of_its_own_calls_at_most() -> None:
    turns, order = FairLimiter(1), list[str]()

    async def turn(name: str, *, is_reader: bool = False) -> None:
        await turns.acquire("client", is_reader=is_reader)
        order.append(name)
        turns.release("client")

    await turns.acquire("client")
    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(turn, f"call {number}")
            await wait_all_tasks_blocked()
        nursery.start_soon(partial(turn, "reader", is_reader=True))
        await wait_all_tasks_blocked()
        turns.release("client")
    assert order == ["call 0", "reader", "call 1", "call 2"]


async def test_what_waits_for_no_thread_has_begun(mock_clock: MockClock) -> None:
    executor = TaskExecutor(Resources(Limits(threads=1)))
    calls = dispatcher(Gate())
    pendings = [begun(calls, "wait"), begun(calls, "listen")]
    assert await errors_after_the_limit(executor, pendings, mock_clock) == [ABORTED, ABORTED]


async def test_threads_are_free_again_after_calls_that_were_never_begun(mock_clock: MockClock) -> None:
    executor = TaskExecutor(Resources(Limits(threads=1)))
    calls = dispatcher(Gate())
    await errors_after_the_limit(executor, [begun(calls, "wait") for _ in range(3)], mock_clock)
    assert executor.workers.waiting == 0
    assert await executor.workers.run("key", lambda _cancel: 5) == 5


async def test_a_call_that_failed_in_a_thread_leaves_nothing_for_the_collector() -> None:
    executor, calls, replies = (
        TaskExecutor(Resources(Limits(threads=1))),
        dispatcher(Gate()),
        list[Reply | None](),
    )
    account = ClientQuota(executor.resources, limit=1 << 20)
    with cycles() as found:
        for _ in range(3):
            replies.append(await executor.finish(begun(calls, "translate"), "key", account))
    errors = [json.loads(whole(reply))["error"] for reply in replies]
    assert errors == 3 * [{"code": -32000, "message": "it failed"}]
    assert found == []
