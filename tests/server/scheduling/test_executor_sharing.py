"""What one client makes the server do, or keep, takes nothing from the others."""

import json
from collections.abc import Generator
from typing import Any

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.memory_transport import Conversation
from tests.server.conftest import Gate, OpenSite, View, finish
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import limit_exceeded
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.jsonrpc.session_limits import SessionBounds
from wsnode.jsonrpc.work import CallTask, RunInThread, Step
from wsnode.server.limits import Limits
from wsnode.server.scheduling.client_quota import ClientQuota
from wsnode.server.scheduling.executor import TaskExecutor
from wsnode.server.scheduling.resources import Resources

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
TIMED_OUT = {"code": -32002, "message": "request timed out"}
BUSY = {"code": -32005, "message": "the server is busy: the call was not begun in time, try again"}


def registry() -> Registry:
    methods = Registry()

    @methods.method("number")
    def number(_view: View) -> bytes:
        return b'"0x1"'

    @methods.method("slices")
    def slices(_view: View) -> Generator[Step, Any, int]:
        yield None
        yield None
        return 2

    @methods.method("brief", deadline=5.0)
    def brief(_view: View) -> Generator[Step, Any, int]:
        yield None
        return 1

    @methods.method("wait")
    def wait(view: View) -> Generator[Step, Any, Any]:
        return (yield RunInThread(view.gate.pass_through))

    return methods


def dispatcher(gate: Gate, *, read: int = 0, **bounds: Any) -> Dispatcher:
    return Dispatcher(
        registry(),
        lambda _caller: View(gate),
        bounds=SessionBounds(**bounds),
        clock=trio.current_time,
        versions=lambda: read,
    )


def request(method: str, identity: int = 1) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"method":"%b"}' % (identity, method.encode())


class NeverRead:
    """An outbox that stays full."""

    output_bytes = 1 << 20

    async def wait_room(self) -> None:
        await trio.sleep_forever()


async def reply_to_who_never_reads(calls: Dispatcher, text: bytes, clock: MockClock, seconds: float) -> Any:
    """Return the reply of a call whose client makes no room, once `seconds` have gone by."""
    pending = Conversation(calls, None).receive(text)
    assert isinstance(pending, CallTask)
    executor = TaskExecutor(Resources(Limits()))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(
            finish,
            executor,
            pending,
            ClientId(),
            ClientQuota(executor.resources, limit=1 << 20, unread=NeverRead()),
        )
        await wait_all_tasks_blocked()
        assert pending.reply is None
        clock.jump(seconds)
    assert executor.in_flight == 0
    return json.loads(pending.reply or b"")


async def test_a_call_held_up_by_its_client_gives_its_view_up_at_its_deadline(mock_clock: MockClock) -> None:
    gate = Gate()
    calls = dispatcher(gate, call_wait_seconds=3.0)
    reply = await reply_to_who_never_reads(calls, request("brief"), mock_clock, 8.0)
    assert reply["error"] == BUSY
    assert gate.closed == 0


async def test_one_without_a_deadline_has_that_of_a_batch(mock_clock: MockClock) -> None:
    gate = Gate()
    calls = dispatcher(gate, batch_seconds=60.0)
    assert (await reply_to_who_never_reads(calls, request("slices"), mock_clock, 60.0))["error"] == TIMED_OUT
    assert gate.closed == 0


async def test_so_does_a_batch_call_by_call(mock_clock: MockClock) -> None:
    gate = Gate()
    calls = dispatcher(gate, batch_seconds=60.0)
    batch = b"[%b,%b,%b]" % (request("number"), request("slices", 2), request("number", 3))
    first, *others = await reply_to_who_never_reads(calls, batch, mock_clock, 60.0)
    assert first["result"] == "0x1"
    assert [(each["id"], each["error"]) for each in others] == [(2, TIMED_OUT), (3, TIMED_OUT)]
    assert gate.closed == 0


async def test_a_call_whose_turn_does_not_come_gives_its_view_up_at_its_deadline(
    mock_clock: MockClock,
) -> None:
    gate, executor = Gate(), TaskExecutor(Resources(Limits()))
    batch = b"[%b,%b]" % (request("slices"), request("number", 2))
    pendings = [
        Conversation(dispatcher(gate, batch_seconds=60.0), None).receive(text)
        for text in (request("brief"), batch)
    ]
    await executor.turns.acquire("another")
    async with trio.open_nursery() as nursery:
        for pending in pendings:
            assert isinstance(pending, CallTask)
            nursery.start_soon(
                finish,
                executor,
                pending,
                ClientId(),
                ClientQuota(executor.resources, limit=1 << 20),
            )
        await wait_all_tasks_blocked()
        mock_clock.jump(60.0)
    brief, (slices, number) = (json.loads(pending.reply) for pending in pendings)  # type: ignore[union-attr, arg-type]
    assert [each["error"] for each in (brief, slices, number)] == [BUSY, TIMED_OUT, TIMED_OUT]
    assert (executor.in_flight, gate.closed) == (0, 0)


async def test_no_call_that_waits_holds_one_more_version_than_there_may_be() -> None:
    gate = Gate()
    calls = dispatcher(gate, read=7, versions=7)
    session = Conversation(calls, None)
    answer = session.receive(request("slices"))
    session.end_turn()
    assert isinstance(answer, bytes)
    assert json.loads(answer)["error"] == {
        "code": -32005,
        "message": "too many versions of the chain are read at once, try again",
    }
    assert gate.closed == 0
    assert session.receive(request("number")) == b'{"jsonrpc":"2.0","id":1,"result":"0x1"}'
    session.end_turn()
    assert gate.closed == 0


async def test_a_view_that_cannot_be_opened_is_refused_to_that_call_alone() -> None:
    refusal = limit_exceeded("the processes of this folder read too many versions of the store")

    def refuse(_caller: Any) -> View:
        raise refusal

    calls = Dispatcher(registry(), refuse)
    answer = Conversation(calls, None).receive(request("number"))
    assert isinstance(answer, bytes)
    assert json.loads(answer)["error"] == {"code": refusal.code, "message": refusal.message}


async def test_compression_waits_for_no_thread_that_a_call_runs_in() -> None:
    gate, executor = Gate(), TaskExecutor(Resources(Limits(threads=1)))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(executor.workers.run, ClientId(), gate.pass_through)
        with trio.fail_after(60):
            assert await executor.short_work.run(ClientId(), lambda _cancel: 5) == 5
        gate.opened = 1


async def test_one_address_runs_calls_in_half_of_the_threads() -> None:
    gate, executor = Gate(), TaskExecutor(Resources(Limits(threads=2)))
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(executor.workers.run, ClientId("192.0.2.1"), gate.pass_through)
        with trio.fail_after(60):
            assert await executor.workers.run(ClientId("192.0.2.2"), lambda _cancel: 5) == 5
        gate.opened = 1


async def test_a_full_server_closes_what_is_idle_before_it_refuses_a_newcomer(open_site: OpenSite) -> None:
    async with open_site(Limits(connections=2)) as site:
        idle = site.connect()
        await idle.send_all(HEALTH)
        assert b"200 OK" in await idle.receive_some()
        peer = await site.peer()
        await wait_all_tasks_blocked()
        assert site.server.admit(ClientId())
        assert await idle.receive_some() == b""
        site.connect()
        await wait_all_tasks_blocked()
        assert not site.server.admit(ClientId())
        await peer.call("number")
        assert (await peer.reply())["result"] == "0x1"


async def test_a_request_is_too_late_once_another_has_the_connections_place(open_site: OpenSite) -> None:
    async with open_site(Limits(connections=1)) as site:
        idle = site.connect()
        await idle.send_all(HEALTH)
        assert b"200 OK" in await idle.receive_some()
        await wait_all_tasks_blocked()
        await idle.send_all(HEALTH)
        newcomer = ClientId()
        assert site.server.admit(newcomer)
        assert await idle.receive_some() == b""
        assert site.server.shared.connections.used == 1
        site.server.shared.connections.give_back(newcomer)
