"""A client's questions, subscriptions and patience, with providers in memory."""

from typing import Any

import msgspec
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.upstream.providers import Error, PostProvider, SocketProvider
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.client import Client, Score, TokenBucket, first_answer
from wsnode.upstream.errors import AddressError, UpstreamError, UpstreamRefusedError

WEBSOCKET = UpstreamAddress.parse("ws://user:word@node.example/secret?key=hidden")
HTTP = UpstreamAddress.parse("http://node.example/secret")


def echo(method: str, params: list[Any]) -> Any:
    return [method, *params]


async def asked_client(nursery: trio.Nursery, provider: SocketProvider | PostProvider, url: Any) -> Client:
    client = Client(url, connect=provider.connect)
    await nursery.start(client.run)
    return client


async def test_a_user_in_the_url_is_sent_as_authorization_and_shown_nowhere() -> None:
    async with trio.open_nursery() as nursery:
        provider = SocketProvider(nursery, echo)
        client = await asked_client(nursery, provider, WEBSOCKET)
        assert await client.ask("m", [1]) == ["m", 1]
        assert (b"authorization", b"Basic dXNlcjp3b3Jk") in provider.headers[0]
        assert str(client) == "ws://node.example"
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://node/SECRET", "ftp:// is none of ws://, wss://, http:// and https://"),
        ("node:8545/SECRET", "node:// is none of"),
        ("SECRET", "a URL without a scheme is none of"),
        ("wss:///SECRET", "a wss:// URL without a host"),
        ("ws://node:99999/SECRET", "not the URL of a node"),
        ("ws://no de/SECRET", "with characters that no URL has"),
    ],
)
def test_what_is_no_address_is_said_without_the_secret(url: str, words: str) -> None:
    with pytest.raises(AddressError, match=words) as raised:
        UpstreamAddress.parse(url)
    assert "SECRET" not in str(raised.value)


async def test_events_reach_the_subscription_that_they_are_of_even_at_once_behind_the_reply() -> None:
    async with trio.open_nursery() as nursery:
        provider = SocketProvider(nursery, lambda method, params: f"id of {params[0]}")
        client = await asked_client(nursery, provider, WEBSOCKET)
        heads: list[bytes] = []
        others: list[bytes] = []
        link = await client.link()
        await link.subscribe(["newHeads"], heads.append)
        await link.subscribe(["other"], others.append)
        await provider.tell("id of newHeads", {"number": "0x1"})
        await provider.tell("id of nobody", {})
        await wait_all_tasks_blocked()
        assert (heads, others) == ([b'{"number":"0x1"}'], [])
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    "identity",
    [None, [], {}, 1.5, "x" * 257, msgspec.Raw(b"[" * 900 + b"]" * 900)],
    ids=["null", "list", "object", "fraction", "long", "nested"],
)
async def test_a_subscription_has_an_id(caplog: pytest.LogCaptureFixture, identity: Any) -> None:
    async with trio.open_nursery() as nursery:
        client = await asked_client(nursery, SocketProvider(nursery, lambda *_call: identity), WEBSOCKET)
        link = await client.link()
        with pytest.raises(UpstreamError):
            await link.subscribe(["newHeads"], lambda _event: None)
        assert link.ended.is_set()
        nursery.cancel_scope.cancel()
    assert "sent a message that is not JSON-RPC" in caplog.text
    assert "Traceback" not in caplog.text


async def test_a_lost_connection_ends_its_questions_and_the_next_one_opens_another() -> None:
    def hold(method: str, params: list[Any]) -> Any:
        return Error(0, "held") if method == "refused" else method

    async with trio.open_nursery() as nursery:
        provider = SocketProvider(nursery, hold)
        client = await asked_client(nursery, provider, WEBSOCKET)
        link = await client.link()
        await provider.close()
        await link.ended.wait()
        with pytest.raises(UpstreamError, match="unreachable"):
            await client.ask("m", [], link=link)
        assert await client.ask("m", []) == "m"
        assert len(provider.connections) == 2
        nursery.cancel_scope.cancel()


async def test_a_connection_that_answers_no_ping_is_given_up(autojump_clock: MockClock) -> None:
    class Stopped(SocketProvider):
        async def connect(self, address: UpstreamAddress) -> trio.abc.Stream:
            stream = await super().connect(address)
            streams.append(stream)
            return stream

    streams: list[Any] = []
    async with trio.open_nursery() as nursery:
        provider = Stopped(nursery, echo)
        client = await asked_client(nursery, provider, WEBSOCKET)
        link = await client.link()
        # From now on nothing that is sent arrives.
        streams[0].send_stream.send_all_hook = None
        streams[0].send_stream.send_all = swallow
        await link.ended.wait()
        assert trio.current_time() < 60
        nursery.cancel_scope.cancel()


async def swallow(data: bytes) -> None:
    await trio.lowlevel.checkpoint()


def replied(status: int, *headers: tuple[str, str], body: bytes | None = None) -> Any:
    def answer(call: dict[str, Any]) -> tuple[int, list[tuple[str, str]], bytes]:
        found = {"jsonrpc": "2.0", "id": call["id"], "result": call["method"]}
        return status, list(headers), msgspec.json.encode(found) if body is None else body

    return answer


@pytest.mark.parametrize("most", [1000, 2])
async def test_calls_are_asked_one_at_a_time_where_their_batch_is_refused(most: int) -> None:
    def answer(method: str, params: list[Any]) -> Any:
        return Error(-32000, "missing") if params == [2] else params[0]

    async with trio.open_nursery() as nursery:
        provider = SocketProvider(nursery, answer)
        provider.most_batched = most
        client = await asked_client(nursery, provider, WEBSOCKET)
        first, refused, last = await client.ask_each("m", [[1], [2], [3]])
        assert (first, last) == (b"1", b"3")
        assert isinstance(refused, UpstreamRefusedError)
        assert await client.ask_each("m", [[1]]) == [b"1"]
        assert provider.batches == [3]
        nursery.cancel_scope.cancel()


async def test_a_batch_that_is_too_much_for_a_provider_is_not_asked_one_at_a_time() -> None:
    async with trio.open_nursery() as nursery:
        provider = PostProvider(nursery, lambda _calls: (429, [], b""))
        client = await asked_client(nursery, provider, HTTP)
        with pytest.raises(UpstreamRefusedError, match="429"):
            await client.ask_each("m", [[1], [2]])
        assert len(provider.targets) == 1
        nursery.cancel_scope.cancel()


async def test_questions_by_post_share_connections_that_are_kept() -> None:
    async with trio.open_nursery() as nursery:
        provider = PostProvider(nursery, replied(200))
        client = await asked_client(nursery, provider, HTTP)
        for _ in range(3):
            assert await client.ask("m", []) == "m"
        assert provider.connections == 1
        assert provider.targets == [b"/secret"] * 3
        async with trio.open_nursery() as together:
            for _ in range(40):
                together.start_soon(client.ask, "m", [])
        assert 1 < provider.connections <= 8
        nursery.cancel_scope.cancel()


async def test_a_kept_connection_that_was_closed_is_replaced() -> None:
    async with trio.open_nursery() as nursery:
        provider = PostProvider(nursery, replied(200))
        client = await asked_client(nursery, provider, HTTP)
        provider.closes_after_each = True
        for _ in range(3):
            assert await client.ask("m", []) == "m"
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [(429, b"", "refused"), (401, b"no", "refused"), (200, b"<html>", "invalid"), (502, b"", "invalid")],
)
async def test_what_http_refuses_has_its_reason(status: int, body: bytes, reason: str) -> None:
    async with trio.open_nursery() as nursery:
        provider = PostProvider(nursery, replied(status, body=body))
        client = await asked_client(nursery, provider, HTTP)
        with pytest.raises(UpstreamError) as raised:
            await client.ask("m", [])
        assert raised.value.reason == reason
        nursery.cancel_scope.cancel()


async def test_retry_after_is_obeyed(autojump_clock: MockClock) -> None:
    answers = iter([replied(429, ("Retry-After", "7")), replied(200)])
    async with trio.open_nursery() as nursery:
        provider = PostProvider(nursery, lambda call: next(answers)(call))
        client = await asked_client(nursery, provider, HTTP)
        with pytest.raises(UpstreamRefusedError, match="429"):
            await client.ask("m", [])
        began = trio.current_time()
        assert await client.ask("m", [], seconds=30) == "m"
        assert trio.current_time() - began >= 7
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("code", [-32005, -32016, 429])
async def test_a_refusal_for_the_rate_halves_it_and_others_do_not(
    code: int, autojump_clock: MockClock
) -> None:
    refusals = iter([Error(code, "too many requests"), Error(-32000, "header not found")])
    async with trio.open_nursery() as nursery:
        provider = SocketProvider(nursery, lambda method, params: next(refusals))
        client = await asked_client(nursery, provider, WEBSOCKET)
        full = client.budget.per_second
        for share in (0.5, 0.5):
            with pytest.raises(UpstreamRefusedError):
                await client.ask("m", [])
            assert client.budget.per_second == pytest.approx(full * share, rel=0.05)
        nursery.cancel_scope.cancel()


async def test_a_refusal_for_what_was_asked_leaves_the_rate_whatever_its_code() -> None:
    refusals = iter(
        [Error(-32005, "query returned more than 10000 results"), Error(-32005, "block range is too large")]
    )
    async with trio.open_nursery() as nursery:
        provider = SocketProvider(nursery, lambda method, params: next(refusals))
        client = await asked_client(nursery, provider, WEBSOCKET)
        full = client.budget.per_second
        for _ in range(2):
            with pytest.raises(UpstreamRefusedError) as raised:
                await client.ask("eth_getLogs", [])
            assert raised.value.may_be_about_size
            assert client.budget.per_second == full
        nursery.cancel_scope.cancel()


async def test_a_budget_lets_a_burst_through_and_then_its_rate(autojump_clock: MockClock) -> None:
    budget = TokenBucket(10.0)
    began = trio.current_time()
    for _ in range(35):
        await budget.take()
    assert trio.current_time() - began == pytest.approx(3.0)


async def test_a_budget_comes_back_after_a_refusal(autojump_clock: MockClock) -> None:
    budget = TokenBucket(100.0)
    budget.refused()
    budget.refused()
    assert budget.per_second == pytest.approx(50.0)
    await trio.sleep(20)
    assert budget.per_second == 100.0


class Slow:
    """An answer that comes, or fails, after a number of seconds."""

    def __init__(self, seconds: float, *, fails: bool = False) -> None:
        self.seconds, self.fails, self.asked = seconds, fails, 0

    async def answer(self) -> str:
        self.asked += 1
        await trio.sleep(self.seconds)
        if self.fails:
            raise UpstreamError("invalid")
        return f"after {self.seconds:g}"


async def raced(*slow: Slow) -> tuple[int, str, float]:
    clients = [Client(HTTP) for _ in slow]
    answers = dict(zip(map(id, clients), slow, strict=True))
    began = trio.current_time()
    client, found = await first_answer(clients, lambda client: answers[id(client)].answer())
    return clients.index(client), found, trio.current_time() - began


@pytest.mark.parametrize(
    ("slow", "winner", "seconds", "asked"),
    [
        ([Slow(0.1), Slow(0.1)], 0, 0.1, [1, 0]),
        ([Slow(9), Slow(0.1)], 1, 0.35, [1, 1]),
        ([Slow(0.3), Slow(9)], 0, 0.3, [1, 1]),
        ([Slow(0.1, fails=True), Slow(0.1)], 1, 0.2, [1, 1]),
        ([Slow(0.1, fails=True), Slow(0.1, fails=True), Slow(1)], 2, 1.2, [1, 1, 1]),
    ],
    ids=["quick", "hangs", "a little late", "fails", "all but the last fail"],
)
async def test_another_is_asked_when_one_fails_or_takes_unusually_long(
    slow: list[Slow], winner: int, seconds: float, asked: list[int], autojump_clock: MockClock
) -> None:
    found = await raced(*slow)
    assert found[:2] == (winner, f"after {slow[winner].seconds:g}")
    assert found[2] == pytest.approx(seconds)
    assert [each.asked for each in slow] == asked


async def test_if_nobody_has_an_answer_the_last_failure_is_told(autojump_clock: MockClock) -> None:
    with pytest.raises(UpstreamError, match="invalid"):
        await raced(Slow(0.1, fails=True), Slow(5, fails=True))
    with pytest.raises(UpstreamError, match="no upstream"):
        await raced()


def test_errors_and_delay_make_an_upstream_worse_and_answers_better() -> None:
    good, late, broken = Client(HTTP), Client(HTTP), Client(HTTP)
    for _ in range(20):
        for client in (good, late, broken):
            client.score.answered(0.05)
        late.score.announced(0.5)
        broken.score.failed()
    assert good.score.cost < late.score.cost < broken.score.cost
    for _ in range(100):
        broken.score.answered(0.01)
    assert broken.score.cost < late.score.cost


def test_19_of_20_answers_are_within_the_p95() -> None:
    score = Score()
    for number in range(100):
        score.answered(number / 100)
    assert score.p95 == 0.95


async def test_too_many_questions_at_once_are_refused_here() -> None:
    release = trio.Event()

    class Waiting:
        ended, heard = trio.Event(), 0

        async def ask(self, method: str, params: list[Any]) -> bytes:
            await release.wait()
            return b"1"

    client, found = Client(HTTP), list[object]()

    async def ask() -> None:
        try:
            found.append(await client.ask("m", [], link=Waiting(), seconds=99))  # type: ignore[arg-type]
        except UpstreamError as error:
            found.append(error.reason)

    async with trio.open_nursery() as nursery:
        for _ in range(1001):
            nursery.start_soon(ask)
        while "busy" not in found:
            await trio.testing.wait_all_tasks_blocked()
        release.set()
    assert found.count("busy") == 1
    assert found.count(1) == 1000


@pytest.mark.parametrize("url", [WEBSOCKET, HTTP], ids=["WebSocket", "HTTP"])
async def test_a_batch_is_answered_call_by_call_in_the_order_of_the_calls(url: UpstreamAddress) -> None:
    def answer(method: str, params: list[Any]) -> Any:
        return Error(-32601, "none") if params == [2] else [method, *params]

    async with trio.open_nursery() as nursery:
        provider = batching(nursery, url, answer)
        client = await asked_client(nursery, provider, url)
        first, second, third = await client.ask_all("m", [[1], [2], [3]])
        assert (first, third) == (b'["m",1]', b'["m",3]')
        assert isinstance(second, UpstreamRefusedError)
        assert second.code == -32601
        assert await client.ask("m", [4]) == ["m", 4]
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("url", [WEBSOCKET, HTTP], ids=["WebSocket", "HTTP"])
async def test_a_batch_that_is_refused_as_a_whole_is_a_refusal(url: UpstreamAddress) -> None:
    async with trio.open_nursery() as nursery:
        provider = batching(nursery, url, echo, most=2)
        client = await asked_client(nursery, provider, url)
        with pytest.raises(UpstreamRefusedError, match="batch too large"):
            await client.ask_all("m", [[1], [2], [3]])
        assert len(await client.ask_all("m", [[1], [2]])) == 2
        nursery.cancel_scope.cancel()


async def test_a_batch_that_a_lost_connection_leaves_unanswered_is_an_error() -> None:
    async with trio.open_nursery() as nursery:
        provider = SocketProvider(nursery, echo)
        client = await asked_client(nursery, provider, WEBSOCKET)
        link = await client.link()
        provider.is_gone = True
        await provider.close()
        await link.ended.wait()
        with pytest.raises(UpstreamError, match="unreachable"):
            await client.ask_all("m", [[1], [2]])
        assert client.score.failures == 1
        nursery.cancel_scope.cancel()


async def test_each_call_of_a_batch_is_paid_for(autojump_clock: MockClock) -> None:
    budget = TokenBucket(10.0)
    await budget.take(25)
    assert trio.current_time() == pytest.approx(2.0)


def batching(
    nursery: trio.Nursery, url: UpstreamAddress, answer: Any, most: int = 1000
) -> SocketProvider | PostProvider:
    """Return a provider that takes batches, of the transport that a URL names."""
    provider = SocketProvider(nursery, answer)
    provider.most_batched = most
    if url.is_websocket:
        return provider
    return PostProvider(nursery, lambda body: (200, [], msgspec.json.encode(provider.reply(body))))
