"""Messages of a connection that ends."""

import json
import select
import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from tests.load.test_frames import server_frame
from wsnode.load.connection import LoadConnection

GOODBYE = struct.pack("!H", 1001) + b"going away"


@pytest.fixture
def peers() -> Iterator[tuple[LoadConnection, socket.socket]]:
    """Return a connection, and the node's side of it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepted: list[socket.socket] = []

        def accept() -> None:
            node, _ = server.accept()
            node.recv(4096)
            node.sendall(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
            accepted.append(node)

        thread = threading.Thread(target=accept)
        thread.start()
        connection = LoadConnection(f"ws://127.0.0.1:{server.getsockname()[1]}/")
        thread.join()
        with accepted[0] as node:
            yield connection, node
        connection.close()


def test_a_message_right_before_a_goodbye_is_received(peers: tuple[LoadConnection, socket.socket]) -> None:
    connection, node = peers
    message = json.dumps({"id": 1, "result": "0x1"}).encode()
    node.sendall(server_frame(message) + server_frame(GOODBYE, 0x88))
    assert select.select([connection.socket], [], [], 60)[0]
    assert connection.receive() == [message]
    with pytest.raises(ConnectionError, match="the node closed the connection: 1001 going away"):
        connection.receive()
    with pytest.raises(ConnectionError, match="closed the connection"):
        connection.send(b"")


def test_a_goodbye_is_received_though_nothing_can_be_sent_any_more(
    peers: tuple[LoadConnection, socket.socket],
) -> None:
    connection, node = peers
    connection.send(b"never read")
    assert select.select([node], [], [], 60)[0]
    node.sendall(server_frame(GOODBYE, 0x88))
    # What was never read makes this a reset.
    node.close()
    poll = select.poll()
    poll.register(connection.socket, 0)
    assert poll.poll(60_000)
    connection.send(b"too late")
    with pytest.raises(ConnectionError, match="the node closed the connection: 1001 going away"):
        connection.receive()
