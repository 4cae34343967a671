"""JSON-RPC through a Unix socket: a stream of values, divided and relayed."""

import inspect
import json
import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st
from trio_websocket import ConnectionClosed, WebSocketRequest, serve_websocket

from tests.demo.anvil.anvil_process import in_anvils_place
from tests.node_process import PATIENCE, run
from wsnode.demo.anvil.pipe import FramingError, JsonSplitter, Pipe
from wsnode.node.listen_address import ListenAddress

TEXTS = st.text(st.sampled_from(list('[]{}",:\\ a0é')))
VALUES = st.recursive(
    TEXTS | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)
)
OBJECTS = st.lists(st.lists(VALUES) | st.dictionaries(TEXTS, VALUES), max_size=4)


@given(OBJECTS, st.sampled_from(["", " ", "\n"]), st.integers(1, 7), st.booleans())
def test_a_stream_is_divided_into_its_values(values: list[Any], gap: str, size: int, escaped: bool) -> None:
    stream = gap.join(json.dumps(value, ensure_ascii=escaped) for value in values).encode()
    divided = JsonSplitter(1 << 20)
    parts = (stream[place : place + size] for place in range(0, len(stream), size))
    assert [json.loads(value) for part in parts for value in divided.feed(part)] == values


@pytest.mark.parametrize("stream", [b"]", b"{} x", b'"text"', b"1", b"{}}"])
def test_what_is_no_object_or_array_is_refused(stream: bytes) -> None:
    with pytest.raises(FramingError) as failed:
        list(JsonSplitter(100).feed(stream))
    assert failed.value.code == -32700


def test_a_value_has_a_bound() -> None:
    text = b'["' + b"x" * 96 + b'"]'
    assert list(JsonSplitter(100).feed(text * 3)) == [text] * 3
    with pytest.raises(FramingError, match="more than 100 bytes"):
        list(JsonSplitter(100).feed(b'["' + b"x" * 99))
    with pytest.raises(FramingError):
        list(JsonSplitter(100).feed(b'["' + b"x" * 97 + b'"]'))


class Client:
    """A connection to the socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")

    def send(self, content: bytes) -> None:
        self._connection.sendall(content)

    def close(self) -> None:
        """Close the file, which keeps the socket open."""
        self._lines.close()

    def receive(self) -> Any:
        return json.loads(self._lines.readline())

    def __call__(self, method: str, *params: Any) -> Any:
        self.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())
        return self.receive()["result"]


@contextmanager
def connected(path: Path) -> Iterator[Client]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(str(path))
        with closing(Client(connection)) as client:
            yield client


def test_calls_and_subscriptions_work_through_a_socket(tmp_path: Path) -> None:
    path = tmp_path / "anvil.ipc"
    with in_anvils_place(tmp_path, "--ipc", str(path), "--limit", "message_bytes=2000") as chain:
        assert f"IPC path: {path}" in chain.lines
        with connected(path) as client, connected(path) as other:
            assert client("eth_chainId") == "0x7a69"
            request = b'{"jsonrpc":"2.0","id":%d,"method":"eth_blockNumber"}'
            client.send(request % 1 + b"[" + request % 2 + b"]" + request[:20])
            replies = [client.receive(), client.receive()]
            client.send((request % 3)[20:])
            assert [*replies, client.receive()] == [
                {"jsonrpc": "2.0", "id": 1, "result": "0x0"},
                [{"jsonrpc": "2.0", "id": 2, "result": "0x0"}],
                {"jsonrpc": "2.0", "id": 3, "result": "0x0"},
            ]
            subscription = client("eth_subscribe", "newHeads")
            assert other("evm_mine") == "0x0"
            told = client.receive()["params"]
            assert (told["subscription"], told["result"]["number"]) == (subscription, "0x1")
            other.send(b"GET / HTTP/1.1")
            assert other.receive()["error"]["code"] == -32700
            assert client("eth_blockNumber") == "0x1"
        with connected(path) as client:
            client.send(b'["' + b"x" * 2000)
            error = client.receive()["error"]
            assert (error["code"], "2000 bytes" in error["message"]) == (-32600, True)
        chain.ended()
    assert not path.exists()
    assert chain.stderr == ""


def test_no_connection_ends_the_node(tmp_path: Path) -> None:
    path = tmp_path / "anvil.ipc"
    request = b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
    with in_anvils_place(tmp_path, "--ipc", str(path)) as chain:
        for count in range(1, 20):
            with connected(path) as client:
                # The error is due while replies are sent.
                client.send(request * count + b"no JSON")
                while "error" not in client.receive():
                    continue
        for _ in range(5):
            with connected(path) as client:
                # It goes with replies unread.
                client.send(request * 2)
                assert client.receive()["result"] == "0x7a69"
                client.send(request)
        with connected(path) as client:
            assert client("eth_chainId") == "0x7a69"
        chain.ended()
    assert chain.stderr == ""


async def test_so_many_connections_are_accepted_and_the_next_waits_for_one_to_end(tmp_path: Path) -> None:
    served = list[str]()

    async def serve(request: WebSocketRequest) -> None:
        connection = await request.accept()
        with suppress(ConnectionClosed):
            while True:
                served.append(str(await connection.get_message()))
                await connection.send_message("{}")

    def open_files() -> int:
        return len(os.listdir("/proc/self/fd"))

    path = tmp_path / "ipc"
    with trio.fail_after(PATIENCE), closing(Pipe(path, 1000, most_connections=2)) as pipe:
        async with trio.open_nursery() as nursery:
            node = await nursery.start(partial(serve_websocket, serve, "127.0.0.1", 0, ssl_context=None))
            pipe.announcing(lambda address: None)(ListenAddress("127.0.0.1", node.port))
            nursery.start_soon(pipe.run)
            first, second = [await trio.open_unix_socket(path) for _ in range(2)]
            for each in (first, second):
                await each.send_all(b"[1]")
                assert await each.receive_some() == b"{}\n"

            files = open_files()
            third = await trio.open_unix_socket(path)
            await third.send_all(b"[3]")
            await trio.testing.wait_all_tasks_blocked(0.05)
            # Its own end is the only file that is new.
            assert (served, open_files() <= files + 1) == (["[1]", "[1]"], True)
            await first.aclose()
            assert await third.receive_some() == b"{}\n"
            await second.aclose()
            await third.aclose()
            nursery.cancel_scope.cancel()


def test_256_connections_are_accepted() -> None:
    assert inspect.signature(Pipe).parameters["most_connections"].default == 256


def test_a_path_that_cannot_be_listened_at_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    ended = run("anvil", "--port", "0", "--ipc", str(path))
    assert (ended.returncode, len(ended.stderr.splitlines()), str(path) in ended.stderr) == (1, 1, True)
