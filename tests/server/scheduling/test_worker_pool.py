"""Threads: as many as there are, fairly shared, and never left behind."""

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable

import msgspec
import pytest
import trio

from tests.memory_transport import Conversation, whole
from tests.server.conftest import until
from tests.server.scheduling.test_gc_policy import cycles, open_server
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import invalid_params
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.requests import LONG_BYTES
from wsnode.jsonrpc.schema import STRING
from wsnode.jsonrpc.work import CallTask, CancelToken, RunInThread
from wsnode.server.scheduling.worker_pool import NICENESS, SWITCH_SECONDS, WorkerPool

pytestmark = pytest.mark.slow


async def test_a_result_and_an_error_come_back() -> None:
    pool = WorkerPool(1)
    assert await pool.run("a", lambda _cancel: threading.current_thread() is threading.main_thread()) is False

    def fail(_cancel: CancelToken) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await pool.run("a", fail)
    assert pool.waiting == 0


async def test_an_error_leaves_nothing_for_the_collector() -> None:
    pool = WorkerPool(1)

    def fail(_cancel: CancelToken) -> None:
        raise ValueError("no")

    with cycles() as found:
        for _ in range(3):
            with contextlib.suppress(ValueError):
                await pool.run("a", fail)
    assert found == []


async def run_cancelled(error: Callable[[str], Exception]) -> None:
    """Run what raises an error once its caller has been cancelled."""
    pool, begun = WorkerPool(1), threading.Event()

    def fail(cancel: CancelToken) -> None:
        begun.set()
        while not cancel.is_set:
            time.sleep(0.001)
        raise error("no")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.run, "a", fail)
        await until(begun.is_set)
        nursery.cancel_scope.cancel()


async def test_an_error_that_comes_too_late_leaves_nothing_for_the_collector() -> None:
    with cycles() as found:
        await run_cancelled(invalid_params)
    assert found == []


async def test_a_bug_is_heard_of_even_if_its_caller_was_cancelled() -> None:
    with pytest.RaisesGroup(pytest.RaisesExc(ValueError, match="no")):
        await run_cancelled(ValueError)


async def test_a_cancellation_tells_the_function_and_waits_for_it() -> None:
    pool, begun, ended = WorkerPool(1), threading.Event(), list[bool]()

    def work(cancel: CancelToken) -> None:
        begun.set()
        while not cancel.is_set:
            time.sleep(0.001)
        time.sleep(0.01)
        ended.append(True)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.run, "a", work)
        await until(begun.is_set)
        nursery.cancel_scope.cancel()
    assert ended == [True]
    assert await pool.run("a", lambda _cancel: 5) == 5


async def test_no_more_threads_than_there_are() -> None:
    pool, running, most = WorkerPool(2), list[int](), list[int]()
    # Nobody is ready before two are at work, however late the machine lets the second one begin.
    both = threading.Barrier(2, timeout=60)

    def work(_cancel: CancelToken) -> None:
        running.append(1)
        both.wait()
        most.append(len(running))
        both.wait()
        running.pop()

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(pool.run, number, work)
        await until(lambda: len(most) == 10)
    assert max(most) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a priority a thread")
async def test_a_worker_steps_back_behind_the_loop() -> None:
    def priority(_cancel: CancelToken) -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    ours = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    pool = WorkerPool(1)
    for _ in range(2):
        assert await pool.run("key", priority) == min(ours + NICENESS, 19)


class Priority(int):
    """That of the thread which reads it."""


def own_priority(_value: object = None) -> Priority:
    return Priority(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))


register_type(Priority, own_priority, STRING)


class LongParameters(msgspec.Struct, array_like=True, frozen=True):
    priority: Priority
    rest: str


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a priority a thread")
async def test_long_parameters_are_read_by_a_thread_that_does_not_step_back() -> None:
    methods = Registry({})

    @methods.method("priority", view=False)
    def priority(params: LongParameters) -> list[int]:
        return [int(params.priority)]

    session = Conversation(Dispatcher(methods, lambda _caller: contextlib.nullcontext()), None)
    request = {"jsonrpc": "2.0", "id": 1, "method": "priority", "params": ["", " " * LONG_BYTES]}
    call = session.receive(json.dumps(request).encode())
    assert isinstance(call, CallTask)
    pool, ended = WorkerPool(1), call.step is None and call.resume()
    while not ended:
        assert isinstance(call.step, RunInThread)
        ended = call.resume(await pool.run("key", call.step.function))
    assert json.loads(whole(call.reply))["result"] == [own_priority()]


async def test_threads_make_way_for_the_loop_while_a_server_serves() -> None:
    before = sys.getswitchinterval()
    async with open_server():
        assert sys.getswitchinterval() == SWITCH_SECONDS < before
    assert sys.getswitchinterval() == before
