"""What calls hold of their results is bounded, for a connection and for all of them."""

import json
from collections import Counter
from collections.abc import Callable, Generator
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from tests.memory_transport import Conversation, whole
from tests.server.conftest import Gate, OpenSite, View, finish, until
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.jsonrpc.work import CallTask, ReplyChunks, RunInThread, Step
from wsnode.server.limits import Limits
from wsnode.server.scheduling.client_quota import ClientQuota
from wsnode.server.scheduling.executor import TaskExecutor
from wsnode.server.scheduling.memory_quota import GUARANTEED_BYTES, WOKEN_AT_ONCE, OutputQuota
from wsnode.server.scheduling.resources import Resources

PIECE = 1000
PIECES = 20
REFUSED = {"code": -32005, "message": "too many bytes of replies are being made, try again"}


class Stage:
    """Calls that make their result piece by piece, and how much they held when it was most."""

    def __init__(self, limit: int) -> None:
        self.executor = TaskExecutor(Resources(Limits(output_bytes=limit)))
        self.held = self.most = 0
        methods = Registry()
        methods.method("pieces", view=False)(self._pieces)
        self.calls = Dispatcher(methods, lambda _caller: View(Gate()), clock=trio.current_time)

    def _pieces(self) -> Generator[Step, Any, ReplyChunks]:
        made = ReplyChunks([b'"'])
        try:
            for count in range(1, PIECES + 1):
                made.append(b"0" * PIECE)
                self.held += PIECE
                self.most = max(self.most, self.held)
                yield count * PIECE
        finally:
            self.held -= PIECE * (len(made) - 1)
        made.append(b'"')
        return made

    def begun(self) -> CallTask:
        session = Conversation(self.calls, None)
        session.eager = False
        pending = session.receive(b'{"jsonrpc":"2.0","id":1,"method":"pieces"}')
        assert isinstance(pending, CallTask)
        return pending

    async def answers(self, accounts: list[ClientQuota], each: int) -> list[Any]:
        pendings = [(self.begun(), account) for account in accounts for _ in range(each)]
        async with trio.open_nursery() as nursery:
            for pending, account in pendings:
                nursery.start_soon(finish, self.executor, pending, ClientId(), account)
        assert (
            self.held,
            self.executor.resources.waiting.in_calls,
            self.executor.resources.waiting.used,
        ) == (
            0,
            0,
            0,
        )
        assert not self.executor.resources.waiting.owners
        return [json.loads(whole(pending.reply)) for pending, _ in pendings]


async def passing(condition: Callable[[], bool]) -> None:
    """Wait for what may hold for a moment only: one slice of the calls runs between two looks."""
    with trio.fail_after(60):
        while not condition():
            await trio.lowlevel.checkpoint()


async def test_calls_of_a_connection_take_turns_beyond_its_bytes() -> None:
    stage = Stage(1 << 30)
    limit = 10 * PIECE
    answers = await stage.answers([ClientQuota(stage.executor.resources, limit=limit)], 50)
    assert all(len(answer["result"]) == PIECE * PIECES for answer in answers)
    # What was there before turns were taken, one result, and the first piece of each that had begun.
    assert stage.most <= limit + PIECE * PIECES + PIECE * 2


async def test_calls_of_a_closed_account_make_no_more_and_can_be_ended() -> None:
    stage = Stage(1 << 30)
    account = ClientQuota(stage.executor.resources, limit=1 << 30)
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(finish, stage.executor, stage.begun(), ClientId(), account)
        await passing(lambda: stage.held >= 6 * PIECE)
        account.close()
        await trio.lowlevel.checkpoint()
        held = stage.held
        nursery.start_soon(finish, stage.executor, stage.begun(), ClientId(), account)
        await wait_all_tasks_blocked()
        assert 0 < stage.held == held < 3 * PIECE * PIECES
        nursery.cancel_scope.cancel()
    assert (stage.held, stage.executor.resources.waiting.in_calls) == (0, 0)


async def test_calls_that_are_about_to_end_are_not_refused_in_place_of_others() -> None:
    stage = Stage(1 << 30)
    output = stage.executor.resources.waiting
    # Of one party the call that began first would make all that it can before the others.
    clients = [ClientId("peer") for _ in range(5)]
    closed, *others = (
        ClientQuota(stage.executor.resources, limit=1 << 30, client=client) for client in clients[1:]
    )
    async with trio.open_nursery() as nursery:
        pendings = [stage.begun() for _ in clients]
        for pending, client, account in zip(pendings, clients, (closed, closed, *others), strict=True):
            nursery.start_soon(finish, stage.executor, pending, client, account)
        await passing(lambda: stage.held >= 10 * PIECE)
        closed.close()
        assert closed.made > max(other.made for other in others)
        output.shed()
        await until(lambda: all(pending.reply is not None for pending in pendings[2:]))
        output.shed()
        nursery.cancel_scope.cancel()
    answers = [json.loads(whole(pending.reply)) for pending in pendings[2:]]
    assert sorted("error" in answer for answer in answers) == [False, False, True]
    assert (stage.held, output.in_calls, output.owners) == (0, 0, {})


async def test_what_is_large_is_not_put_together_and_counts_as_long_as_it_is(
    autojump_clock: trio.testing.MockClock,
) -> None:
    gate, executor, size = Gate(), TaskExecutor(Resources(Limits())), 2 << 20
    parts = [b'"', b"0" * size, b'"']
    methods = Registry()

    @methods.method("large")
    def large(_view: View) -> Generator[Step, Any, ReplyChunks]:
        yield None
        return ReplyChunks(parts)

    calls = Dispatcher(methods, lambda _caller: View(gate), clock=trio.current_time)
    one = b'{"jsonrpc":"2.0","id":1,"method":"large"}'
    for text, count in ((one, 1), (b"[%b,%b]" % (one, one), 2)):
        session = Conversation(calls, None)
        pending = session.receive(text)
        assert isinstance(pending, CallTask)
        await finish(executor, pending, ClientId(), ClientQuota(executor.resources, limit=2 * size))
        reply = pending.reply
        assert isinstance(reply, ReplyChunks)
        assert sum(piece is parts[1] for piece in reply) == count
        whole = b"".join(reply)
        assert pending.made == len(whole) > count * size
        answers = json.loads(whole)
        assert [each["result"] for each in (answers if count > 1 else [answers])] == ["0" * size] * count
    assert executor.resources.waiting.in_calls == 0


async def test_the_calls_of_a_batch_count_what_others_hold_while_they_are_in_a_thread() -> None:
    gate, executor = Gate(), TaskExecutor(Resources(Limits()))
    methods = Registry()

    @methods.method("piece")
    def piece(_view: View) -> Generator[Step, Any, bytes]:
        yield None
        return b'"' + b"0" * PIECE + b'"'

    @methods.method("wait")
    def wait(view: View) -> Generator[Step, Any, Any]:
        yield PIECE
        return (yield RunInThread(view.gate.pass_through))

    calls = Dispatcher(methods, lambda _caller: View(gate), clock=trio.current_time)
    texts = [b'{"jsonrpc":"2.0","id":1,"method":"%b"}' % name for name in (b"piece", b"piece", b"wait")]
    pending = Conversation(calls, None).receive(b"[%b]" % b",".join(texts))
    assert isinstance(pending, CallTask)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(
            finish, executor, pending, ClientId(), ClientQuota(executor.resources, limit=1 << 20)
        )
        await until(lambda: gate.entered == 1)
        await wait_all_tasks_blocked()
        assert executor.resources.waiting.in_calls > 3 * PIECE
        gate.opened = 1
    assert executor.resources.waiting.in_calls == 0


async def test_beyond_the_bytes_of_all_calls_are_refused_and_the_others_end() -> None:
    limit = 400 * 1000
    stage = Stage(limit)
    accounts = [ClientQuota(stage.executor.resources, limit=1 << 30) for _ in range(20)]
    answers = await stage.answers(accounts, 10)
    refused = [answer["error"] for answer in answers if "error" in answer]
    assert refused
    assert all(error == REFUSED for error in refused)
    assert 0 < len(refused) < len(answers)
    assert stage.most <= limit + len(accounts) * 64 * 1024


async def test_who_holds_little_goes_on_while_others_wait() -> None:
    stage = Stage(100 * 1000)
    stage.executor.resources.waiting.add(ClientId(), 200 * 1000)
    small = ClientQuota(stage.executor.resources, limit=1 << 30)
    with trio.fail_after(60):
        pending = stage.begun()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(finish, stage.executor, pending, ClientId(), small)
    assert len(json.loads(whole(pending.reply))["result"]) == PIECE * PIECES


@pytest.mark.parametrize(
    ("size", "threads", "at_once"),
    [
        pytest.param(60, 16, 1, id="more-than-half-of-the-bytes"),
        pytest.param(30, 16, 1, id="two-are-more-than-half"),
        pytest.param(20, 16, 2, id="two-are-less-than-half"),
        pytest.param(1, 3, 3, id="as-many-as-threads"),
    ],
)
async def test_results_that_may_be_large_wait_for_room_and_leave_some(
    size: int, threads: int, at_once: int
) -> None:
    gate, resources = Gate(), Resources(Limits(threads=threads, output_bytes=100))
    output = resources.waiting
    methods = Registry()

    @methods.method("large")
    def large(view: View) -> Generator[Step, Any, Any]:
        work = RunInThread(view.gate.pass_through)
        work.most_bytes = size
        return (yield work)

    executor = TaskExecutor(resources)
    calls = Dispatcher(methods, lambda _caller: View(gate), clock=trio.current_time)
    pendings = [
        Conversation(calls, None).receive(b'{"jsonrpc":"2.0","id":1,"method":"large"}') for _ in range(9)
    ]
    async with trio.open_nursery() as nursery:
        for pending in pendings:
            assert isinstance(pending, CallTask)
            nursery.start_soon(finish, executor, pending, ClientId(), ClientQuota(resources, limit=1 << 20))
        await until(lambda: gate.entered == at_once)
        await wait_all_tasks_blocked()
        assert (gate.entered, output.in_calls) == (at_once, at_once * size)
        gate.opened = 1
    assert (gate.entered, output.in_calls) == (9, 0)


async def test_nobody_is_refused_for_what_others_may_make() -> None:
    stage = Stage(120 * 1000)
    output = stage.executor.resources.waiting
    account = ClientQuota(stage.executor.resources, limit=1 << 30)
    await output.reserve(client := ClientId(), 100 * 1000)
    pendings = [stage.begun() for _ in range(4)]
    async with trio.open_nursery() as nursery:
        for pending in pendings:
            nursery.start_soon(finish, stage.executor, pending, ClientId(), account)
        await until(lambda: stage.held > GUARANTEED_BYTES)
        await wait_all_tasks_blocked()
        output.end_reservation(client, 100 * 1000)
    assert [len(json.loads(whole(pending.reply))["result"]) for pending in pendings] == [PIECE * PIECES] * 4


async def test_the_client_that_leaves_most_unread_is_cut_off_before_all_memory_is_gone(
    open_site: OpenSite, monkeypatch: Any
) -> None:
    monkeypatch.setattr("wsnode.server.scheduling.memory_quota.OVERFLOW_BYTES", 1 << 20)
    async with open_site(Limits(output_bytes=1 << 20)) as site:
        waiting = site.server.shared.waiting
        peers = [await site.peer() for _ in range(6)]
        for size, peer in enumerate(peers, 4):
            await peer.call("zeros", size * 100_000)
            await wait_all_tasks_blocked()
        assert waiting.used <= 2 << 20
        reader = await site.peer()
        await reader.call("number")
        assert (await reader.reply())["result"] == "0x1"
        # The largest went, the smallest is still there.
        assert len((await peers[0].reply())["result"]) == 400_000


def same_address() -> str:
    """Return an address in a text of its own, as each connection has it."""
    return str(b"198.51.100.1", "ascii")


@pytest.mark.slow
async def test_the_calls_of_one_address_hold_half_and_those_of_others_go_on() -> None:
    limit = 400 * 1000
    stage = Stage(limit)
    output = stage.executor.resources.waiting
    crowd = [
        ClientQuota(stage.executor.resources, limit=1 << 30, client=ClientId(same_address()))
        for _ in range(40)
    ]
    other = ClientQuota(stage.executor.resources, limit=1 << 30, client=ClientId("198.51.100.2"))
    async with trio.open_nursery() as nursery:
        pendings = [(stage.begun(), account) for account in crowd for _ in range(10)]
        for pending, account in pendings:
            nursery.start_soon(finish, stage.executor, pending, account.client, account)
        await passing(lambda: output.has_used_up(crowd[0].client))
        honest = [stage.begun() for _ in range(4)]
        for pending in honest:
            nursery.start_soon(finish, stage.executor, pending, other.client, other)
    assert stage.most <= limit // 2 + GUARANTEED_BYTES + PIECE * PIECES * len(honest)
    assert all("result" in json.loads(whole(pending.reply)) for pending in honest)
    told = ["error" in json.loads(whole(pending.reply)) for pending, _ in pendings]
    assert 0 < sum(told) < len(told)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Counter[ClientQuota]:
    """How often calls of each account look for room."""
    found, may_go_on = Counter[ClientQuota](), ClientQuota.may_go_on

    def counting(self: ClientQuota, pending: CallTask) -> bool:
        found[self] += 1
        return may_go_on(self, pending)

    monkeypatch.setattr(ClientQuota, "may_go_on", counting)
    return found


async def changes(output: OutputQuota, count: int) -> None:
    """Give back a byte `count` times, with a turn for other tasks after each."""
    for _ in range(count):
        output.add_result(None, 1)
        output.add_result(None, -1)
        await trio.lowlevel.checkpoint()


async def test_of_a_hundred_calls_that_wait_one_looks_for_room(
    looks: Counter[ClientQuota],
) -> None:
    stage = Stage(1 << 30)
    account = ClientQuota(stage.executor.resources, limit=PIECE)
    pendings = [stage.begun() for _ in range(100)]
    async with trio.open_nursery() as nursery:
        for pending in pendings:
            nursery.start_soon(finish, stage.executor, pending, ClientId(), account)
        await changes(stage.executor.resources.waiting, 100)
    assert all("result" in json.loads(whole(pending.reply)) for pending in pendings)
    # A look at the beginning, before and in each slice, and of the first that waits at each change.
    assert looks[account] < 100 * (2 * PIECES + 10) + 2000


async def test_of_a_hundred_connections_that_wait_few_look_for_room_at_a_change(
    looks: Counter[ClientQuota], autojump_clock: trio.testing.MockClock
) -> None:
    stage = Stage(1000)
    output = stage.executor.resources.waiting
    other = ClientId()
    output.add_result(other, 1 << 30)
    accounts = [ClientQuota(stage.executor.resources, limit=PIECE) for _ in range(100)]
    async with trio.open_nursery() as nursery:
        pendings = [stage.begun() for _ in accounts]
        for pending, account in zip(pendings, accounts, strict=True):
            nursery.start_soon(finish, stage.executor, pending, ClientId(), account)
        await wait_all_tasks_blocked()
        before = looks.total()
        # No time goes by: it does when nothing else can be done.
        await changes(output, 100)
        assert looks.total() - before <= 2 * WOKEN_AT_ONCE * 100
        output.add_result(other, -(1 << 30))
    assert all("result" in json.loads(whole(pending.reply)) for pending in pendings)
