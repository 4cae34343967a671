"""The end of a connection to another node, over a stream in memory."""

import logging
from functools import partial

import pytest
import trio
import trio.testing
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Request, TextMessage

from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.websocket import converse

PING = b"\x89\x00"


async def ping_when_closed(stream: trio.abc.Stream) -> None:
    """Accept a WebSocket, say what is no JSON-RPC, and answer the close that follows with a ping."""
    server = WSConnection(ConnectionType.SERVER)
    while True:
        server.receive_data(bytes(await stream.receive_some()))
        for event in server.events():
            if isinstance(event, Request):
                await stream.send_all(server.send(AcceptConnection()))
                await stream.send_all(server.send(TextMessage("never")))
            elif isinstance(event, CloseConnection):
                await stream.send_all(PING)
                return


async def test_a_ping_in_the_way_of_a_close_ends_a_connection_with_a_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    malformed: list[UpstreamAddress] = []
    here, there = trio.testing.memory_stream_pair()

    async def connect(_address: UpstreamAddress) -> trio.abc.Stream:
        await trio.lowlevel.checkpoint()
        return here

    with caplog.at_level(logging.WARNING):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ping_when_closed, there)
            address = UpstreamAddress.parse("ws://node:1/")
            hold = partial(converse, address, connect, on_malformed=lambda: malformed.append(address))
            assert await nursery.start(hold) is not None
    assert [(record.levelname, record.exc_info) for record in caplog.records] == [("WARNING", None)] * 2
    assert "not JSON-RPC" in caplog.messages[0]
    assert len(malformed) == 1
