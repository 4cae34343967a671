"""What a client may demand of the node that it comes to: a block that it has seen at another one."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.ethereum.live.growing import GrowingChain
from tests.ethereum.live.sessions import Node, open_node
from tests.live.client import Client
from tests.server.conftest import Peer, read_all
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.block_barrier import BlockBarrier
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.registry import Registry
from wsnode.server.access.router import Network
from wsnode.server.server import Server

MALFORMED = "a block is written NUMBER or NUMBER:HASH"
OTHER = f"0x{64 * '7'}"
NUMBER: list[tuple[str, list[Any]]] = [("eth_blockNumber", [])]


class Response:
    """An HTTP response's status, headers by lower-case name, and body."""

    def __init__(self, text: bytes) -> None:
        head, _, body = text.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
        self.json: Any = json.loads(body) if body else None


class Visitor:
    """Asks a server over connections of its own."""

    def __init__(self, server: Server, nursery: trio.Nursery) -> None:
        self._server = server
        self._nursery = nursery
        self.answers: list[Response] = []

    def connect(self) -> trio.abc.HalfCloseableStream:
        mine, theirs = trio.testing.memory_stream_pair()
        self._nursery.start_soon(self._server.serve_stream, theirs)
        return mine

    async def post(self, calls: list[tuple[str, list[Any]]], **headers: str) -> Response:
        """Return the response to a call, or to a batch of several."""
        items = [
            {"jsonrpc": "2.0", "id": place, "method": method, "params": params}
            for place, (method, params) in enumerate(calls)
        ]
        body = json.dumps(items[0] if len(items) == 1 else items)
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        lines += ["Host: node", "Content-Type: application/json", f"Content-Length: {len(body)}"]
        head = "\r\n".join(("POST /v3/key HTTP/1.1", *lines, "Connection: close"))
        async with self.connect() as stream:
            await stream.send_all(f"{head}\r\n\r\n{body}".encode())
            self.answers.append(Response(await read_all(stream)))
        return self.answers[-1]

    async def open(self, query: str) -> tuple[Peer, Any]:
        """Return a connection, and the response to its handshake."""
        peer = Peer(self.connect(), path=f"/ws/v3/key?{query}")
        return peer, await peer.open()


@asynccontextmanager
async def visited(growing: GrowingChain, **options: Any) -> AsyncIterator[tuple[Node, Visitor]]:
    async with open_node(growing, **options) as node, trio.open_nursery() as nursery:
        yield node, Visitor(node.server, nursery)
        nursery.cancel_scope.cancel()


def written(head: Head) -> str:
    return f"{head.number}:0x{head.hash.hex()}"


def grow(node: Node) -> Head:
    head = node.growing.grow()
    node.hub.advance()
    return head


def waiting(node: Node) -> int:
    barrier = node.registry.barrier
    assert isinstance(barrier, BlockBarrier)
    return barrier.waiting


def behind(head: Head) -> dict[str, Any]:
    message = "the node is behind: it has no such block yet"
    return {"code": -32001, "message": message, "data": {"behind": True, "head": head.members()}}


@pytest.mark.parametrize(
    "calls",
    [
        NUMBER,
        [("eth_getBlockByNumber", ["latest", False])],
        [("net_listening", [])],
        [("nothing", [])],
        [*NUMBER, *NUMBER, ("eth_chainId", [])],
        [("eth_getLogs", [{"fromBlock": "0x0"}])],
        [("debug_traceBlockByNumber", ["latest"])],
    ],
    ids=lambda calls: "+".join(name for name, _ in calls),
)
async def test_a_reply_over_http_says_of_which_block_it_is(growing: GrowingChain, calls: Any) -> None:
    async with visited(growing) as (node, visitor):
        for _ in range(2):
            head = grow(node)
            answer = await visitor.post(calls)
            assert (answer.status, answer.headers["wsnode-block"]) == (200, written(head))
            assert "access-control-expose-headers" not in answer.headers


async def test_web_pages_may_read_of_which_block_a_reply_is(growing: GrowingChain) -> None:
    async with visited(growing) as (_node, visitor):
        answer = await visitor.post(NUMBER, Origin="https://page.example")
        assert answer.headers["access-control-expose-headers"] == "wsnode-block"


async def test_a_reply_that_takes_long_is_of_the_block_that_it_saw(growing: GrowingChain) -> None:
    head = growing.grow()
    async with visited(growing, announced=lambda: 2) as (node, visitor), trio.open_nursery() as nursery:
        nursery.start_soon(visitor.post, [("eth_getBlockByNumber", ["0x2", False])])
        await wait_all_tasks_blocked()
        nursery.start_soon(visitor.post, [*NUMBER, ("eth_getBlockByNumber", ["0x2", False])])
        await wait_all_tasks_blocked()
        assert waiting(node) == 2
        assert (await visitor.post(NUMBER)).headers["wsnode-block"] == written(head)
        grow(node)
        while len(visitor.answers) < 3:
            await wait_all_tasks_blocked()
        seen = {answer.headers["wsnode-block"] for answer in visitor.answers[1:]}
        assert seen == {written(growing.chain.head)}


async def test_a_request_waits_for_the_block_that_its_header_demands(growing: GrowingChain) -> None:
    async with visited(growing) as (node, visitor), trio.open_nursery() as nursery:
        nursery.start_soon(lambda: visitor.post(NUMBER, wsnode_min_block="1"))
        await wait_all_tasks_blocked()
        assert (waiting(node), visitor.answers, growing.chain.store.versions) == (1, [], 0)
        head = grow(node)
        await wait_all_tasks_blocked()
        (answer,) = visitor.answers
        assert (answer.status, answer.json["result"]) == (200, "0x1")
        again = await visitor.post(NUMBER, wsnode_min_block=written(head))
        assert again.headers["wsnode-block"] == written(head)


@pytest.mark.parametrize("demand", ["1", "0x1", f"1:{OTHER}", f"0:{OTHER}"])
async def test_a_block_that_does_not_come_is_a_reason_to_ask_another_node(
    growing: GrowingChain, demand: str, autojump_clock: MockClock
) -> None:
    async with visited(growing) as (_node, visitor):
        began = trio.current_time()
        answer = await visitor.post(NUMBER, wsnode_min_block=demand)
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert answer.json["error"] == behind(growing.chain.head)
        _peer, response = await visitor.open(f"min_block={demand}")
        assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
        assert json.loads(response.body)["error"] == behind(growing.chain.head)
        assert trio.current_time() - began == pytest.approx(4, abs=0.5)


@pytest.mark.parametrize("demand", ["x", "-1", "latest", "1:2", "1:"])
async def test_what_is_no_block_is_refused_in_a_line(growing: GrowingChain, demand: str) -> None:
    async with visited(growing) as (node, visitor):
        answer = await visitor.post(NUMBER, wsnode_min_block=demand)
        assert (answer.status, answer.json["error"]) == (400, {"code": -32602, "message": MALFORMED})
        _peer, response = await visitor.open(f"min_block={demand}")
        assert response.status_code == 400
        assert json.loads(response.body)["error"]["message"] == MALFORMED
        client = await node.connect()
        refused = (await client.call("wsnode_minBlock", demand))["error"]
        assert refused == {"code": -32602, "message": f"invalid argument 0: {MALFORMED}"}


@pytest.mark.parametrize("query", ["min_block=1&min_block=2", "min_block="])
async def test_a_handshake_demands_one_block(growing: GrowingChain, query: str) -> None:
    async with visited(growing) as (_node, visitor):
        _peer, response = await visitor.open(query)
        assert response.status_code == 400


@pytest.mark.parametrize("query", ["", "x=1", "min_block_x=1", "x=min_block", "min_block=0"])
async def test_a_handshake_that_demands_nothing_more_is_accepted_at_once(
    growing: GrowingChain, query: str
) -> None:
    async with visited(growing) as (_node, visitor):
        peer, response = await visitor.open(query)
        assert response.status_code == 101
        await peer.call("eth_blockNumber")
        assert (await peer.reply())["result"] == "0x0"


async def test_a_handshake_waits_for_the_block_that_it_demands(growing: GrowingChain) -> None:
    outcomes: list[int] = []
    async with visited(growing) as (node, visitor), trio.open_nursery() as nursery:

        async def come() -> None:
            _peer, response = await visitor.open("min_block=1")
            outcomes.append(response.status_code)

        nursery.start_soon(come)
        await wait_all_tasks_blocked()
        assert (outcomes, waiting(node)) == ([], 1)
        grow(node)
        await wait_all_tasks_blocked()
        assert (outcomes, waiting(node)) == ([101], 0)


async def test_no_more_wait_than_are_allowed(growing: GrowingChain) -> None:
    calls = CallLimits(behind_waiting=1)
    async with visited(growing, calls=calls) as (node, visitor), trio.open_nursery() as nursery:
        nursery.start_soon(lambda: visitor.post(NUMBER, wsnode_min_block="1"))
        await wait_all_tasks_blocked()
        refused = await visitor.post(NUMBER, wsnode_min_block="1")
        assert (refused.status, refused.json["error"]["code"]) == (503, -32005)
        grow(node)


async def test_a_client_that_leaves_waits_no_more(growing: GrowingChain) -> None:
    async with visited(growing) as (node, visitor):
        stream = visitor.connect()
        body = b'{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}'
        head = b"POST /v3/key HTTP/1.1\r\nHost: node\r\nContent-Type: application/json\r\n"
        length = b"wsnode-min-block: 1\r\nContent-Length: %d\r\n\r\n" % len(body)
        await stream.send_all(head + length + body)
        await wait_all_tasks_blocked()
        assert waiting(node) == 1
        await stream.aclose()
        await wait_all_tasks_blocked()
        assert waiting(node) == 0


async def test_calls_after_a_demand_wait_for_its_block(growing: GrowingChain) -> None:
    async with visited(growing) as (node, _visitor):
        client = await node.connect()
        # So that the engine knows the answer by itself.
        for _ in range(3):
            assert (await client.call("eth_blockNumber"))["result"] == "0x0"
        before = await client.ask("eth_blockNumber")
        demand = await client.ask("wsnode_minBlock", "0x1")
        after = [await client.ask("eth_blockNumber") for _ in range(3)]
        batch = '[{"jsonrpc":"2.0","id":99,"method":"eth_blockNumber"}]'
        await client.peer.send(batch)
        assert (await client.reply(before))["result"] == "0x0"
        assert len(client.messages) == 4
        head = grow(node)
        assert (await client.reply(demand))["result"] == head.members()
        for each in after:
            assert (await client.reply(each))["result"] == "0x1"
        assert [{"jsonrpc": "2.0", "id": 99, "result": "0x1"}] in client.messages
        assert (await client.call("eth_blockNumber"))["result"] == "0x1"


async def test_a_demand_may_follow_another_one_that_waits(growing: GrowingChain) -> None:
    async with visited(growing) as (node, _visitor):
        client = await node.connect()
        demands = [await client.ask("wsnode_minBlock", block) for block in ("0x1", "0x2")]
        after = await client.ask("eth_blockNumber")
        head = grow(node)
        assert (await client.reply(demands[0]))["result"] == head.members()
        await client.settle()
        assert len(client.messages) == 1
        later = await client.ask("eth_blockNumber")
        head = grow(node)
        assert (await client.reply(demands[1]))["result"] == head.members()
        assert (await client.reply(later))["result"] == "0x2"
        assert "result" in await client.reply(after)


async def test_calls_are_not_answered_before_the_block_that_was_demanded(
    growing: GrowingChain, autojump_clock: MockClock
) -> None:
    async with visited(growing) as (node, _visitor):
        client = await node.connect()
        for method, params in (("wsnode_minBlock", ["1"]), ("eth_blockNumber", [])):
            identity = await client.ask(method, *params)
            await trio.sleep(3)
            assert (await client.reply(identity))["error"] == behind(growing.chain.head)
        await client.peer.send('[{"jsonrpc":"2.0","id":7,"method":"eth_blockNumber"}, 1]')
        await trio.sleep(3)
        first, second = client.messages[-1]
        assert first["error"] == behind(growing.chain.head)
        assert second["error"]["code"] == -32600
        head = grow(node)
        assert (await client.call("eth_blockNumber"))["result"] == "0x1"
        assert (await client.call("wsnode_minBlock", written(head)))["result"] == head.members()


async def test_a_demand_is_a_request_of_its_own_on_a_connection(growing: GrowingChain) -> None:
    async with visited(growing) as (node, visitor):
        client = await node.connect()
        await client.peer.send(
            '[{"jsonrpc":"2.0","id":7,"method":"wsnode_minBlock","params":["0"]},'
            '{"jsonrpc":"2.0","id":8,"method":"eth_blockNumber"}]'
        )
        await client.settle()
        assert client.messages[-1][0]["error"]["code"] == -32600
        over_http = await visitor.post([("wsnode_minBlock", ["0"])])
        assert over_http.json["error"]["code"] == -32601


async def test_a_block_that_was_canonical_once_is_enough(growing: GrowingChain) -> None:
    dropped = growing.grow()
    growing.reorganise(1, [[]])
    async with visited(growing) as (node, visitor):
        assert (await visitor.post(NUMBER, wsnode_min_block=written(dropped))).status == 200
        client: Client = await node.connect()
        assert "result" in await client.call("wsnode_minBlock", written(dropped))


async def test_a_network_without_blocks_to_wait_for_says_so(growing: GrowingChain) -> None:
    network = Network("test", Registry(), growing.chain.snapshot)
    async with trio.open_nursery() as nursery:
        visitor = Visitor(Server([network]), nursery)
        answer = await visitor.post(NUMBER, wsnode_min_block="1")
        assert answer.status == 400
        assert answer.json["error"]["message"] == "this network has no blocks to wait for"
        assert "wsnode-block" not in (await visitor.post(NUMBER)).headers
        nursery.cancel_scope.cancel()


def test_the_method_is_there_wherever_clients_can_be_told_of_blocks(growing: GrowingChain) -> None:
    assert "wsnode_minBlock" in build_registry(growing.chain, hub=Hub(growing.chain)).methods
    assert "wsnode_minBlock" not in build_registry(growing.chain).methods
