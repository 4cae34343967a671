"""A partner provider over real sockets: honest, slow, rude, gone and back."""

import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec
import pytest
import trio
from trio_websocket import ConnectionClosed, WebSocketConnection, WebSocketRequest, serve_websocket

from tests.node_process import kept_address
from tests.server.certificates import make_certificate
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.client import Client
from wsnode.upstream.errors import ConnectionLostError, UpstreamError
from wsnode.upstream.link import connector

LONG = 60.0
"""Seconds that no answer takes, however busy the machine is."""
Conversation = Callable[[WebSocketConnection], Awaitable[None]]


class Provider:
    """Holds every connection in the same way, and counts them."""

    def __init__(self, converse: Conversation) -> None:
        self._converse = converse
        self.connections = 0

    async def accept(self, request: WebSocketRequest) -> None:
        connection = await request.accept()
        self.connections += 1
        with suppress(ConnectionClosed):
            await self._converse(connection)

    async def listen(self, nursery: trio.Nursery, port: int = 0) -> int:
        server = await nursery.start(serve_websocket, self.accept, "127.0.0.1", port, None)
        number: int = server.port
        return number


async def asked(connection: WebSocketConnection) -> int:
    number: int = msgspec.json.decode(await connection.get_message())["id"]
    return number


async def answer(connection: WebSocketConnection, **members: object) -> None:
    await connection.send_message(msgspec.json.encode(members).decode())


async def honest(connection: WebSocketConnection) -> None:
    while True:
        await answer(connection, jsonrpc="2.0", id=await asked(connection), result="found")


async def refusing(connection: WebSocketConnection) -> None:
    while True:
        await answer(connection, id=await asked(connection), error={"code": -32005, "message": "no"})


async def silent(connection: WebSocketConnection) -> None:
    while True:
        await asked(connection)


async def falling_silent(connection: WebSocketConnection) -> None:
    await answer(connection, jsonrpc="2.0", id=await asked(connection), result="found")
    await silent(connection)


async def rude(connection: WebSocketConnection) -> None:
    await asked(connection)
    await connection.send_message("{")
    await trio.sleep_forever()


async def leaving(connection: WebSocketConnection) -> None:
    await asked(connection)


async def closing(connection: WebSocketConnection) -> None:
    await answer(connection, jsonrpc="2.0", id=await asked(connection), result="found")
    await connection.aclose()


async def started(nursery: trio.Nursery, port: int, seconds: float = LONG) -> Client:
    partner = Client(UpstreamAddress.parse(f"ws://127.0.0.1:{port}/ws/v3/secret"), seconds=seconds)
    await nursery.start(partner.run)
    return partner


async def test_one_connection_carries_all_questions() -> None:
    provider = Provider(honest)
    async with trio.open_nursery() as nursery:
        partner = await started(nursery, await provider.listen(nursery))
        found: list[object] = []

        async def ask() -> None:
            found.append(await partner.ask("eth_chainId", []))

        async with trio.open_nursery() as together:
            for _ in range(20):
                together.start_soon(ask)
        assert found == ["found"] * 20
        assert provider.connections == 1
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("converse", "seconds", "reason"),
    [
        (refusing, LONG, "refused"),
        (silent, 0.3, "timeout"),
        (rude, LONG, "unreachable"),
        (leaving, LONG, "unreachable"),
    ],
)
async def test_what_is_no_answer_is_an_error_in_time(
    converse: Conversation, seconds: float, reason: str
) -> None:
    async with trio.open_nursery() as nursery:
        partner = await started(nursery, await Provider(converse).listen(nursery), seconds)
        with trio.fail_after(LONG), pytest.raises(UpstreamError) as raised:
            await partner.ask("eth_chainId", [])
        assert raised.value.reason == reason
        nursery.cancel_scope.cancel()


async def test_the_question_after_a_lost_connection_opens_another() -> None:
    provider = Provider(closing)
    async with trio.open_nursery() as nursery:
        partner = await started(nursery, await provider.listen(nursery))
        for _ in range(30):
            with suppress(ConnectionLostError):
                await partner.ask("eth_chainId", [])
                continue
            assert await partner.ask("eth_chainId", []) == "found"
        assert provider.connections == 30
        nursery.cancel_scope.cancel()


async def test_a_key_that_is_refused_is_an_error_each_time() -> None:
    async def refuse(request: WebSocketRequest) -> None:
        await request.reject(401)

    async with trio.open_nursery() as nursery:
        server = await nursery.start(serve_websocket, refuse, "127.0.0.1", 0, None)
        partner = await started(nursery, server.port)
        for _ in range(2):
            with pytest.raises(UpstreamError, match="unreachable"):
                await partner.ask("eth_chainId", [])
        nursery.cancel_scope.cancel()


async def test_a_partner_is_asked_over_tls_and_only_if_its_certificate_is_trusted(tmp_path: Path) -> None:
    files = make_certificate(tmp_path, "IP:127.0.0.1")
    ours, theirs = ssl.create_default_context(cafile=files[0]), ssl.create_default_context()
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(*files)
    async with trio.open_nursery() as nursery:
        accept = Provider(honest).accept
        server = await nursery.start(serve_websocket, accept, "127.0.0.1", 0, served)
        for trusted, answers in ((theirs, False), (ours, True)):
            partner = Client(
                UpstreamAddress.parse(f"wss://127.0.0.1:{server.port}/"),
                seconds=LONG,
                connect=connector(trusted),
            )
            await nursery.start(partner.run)
            if answers:
                assert await partner.ask("eth_chainId", []) == "found"
            else:
                with pytest.raises(UpstreamError, match="unreachable"):
                    await partner.ask("eth_chainId", [])
        nursery.cancel_scope.cancel()


async def test_what_does_not_speak_http_is_unreachable() -> None:
    async def babble(stream: trio.SocketStream) -> None:
        await stream.send_all(b"\x00\x01 this is no handshake\r\n\r\n")
        await trio.sleep_forever()

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, babble, 0, host="127.0.0.1"))
        partner = await started(nursery, listener.socket.getsockname()[1], seconds=1)
        for _ in range(2):
            with pytest.raises(UpstreamError, match=r"unreachable|timeout"):
                await partner.ask("eth_chainId", [])
        nursery.cancel_scope.cancel()


async def test_a_question_behind_the_end_of_all_connections_is_an_error() -> None:
    provider = Provider(honest)
    async with trio.open_nursery() as nursery:
        partner = await started(nursery, await provider.listen(nursery))
        assert await partner.ask("eth_chainId", [])
        nursery.cancel_scope.cancel()
    with pytest.raises(UpstreamError, match="no connection is opened, since the node is stopping"):
        await partner.ask("eth_chainId", [])


async def test_nobody_there_is_an_error_and_somebody_later_is_found() -> None:
    with kept_address() as address:
        await leave_and_come_back(int(address.rpartition(":")[2]))


@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_why_nobody_can_be_reached_is_logged_in_the_systems_words(
    scheme: str, caplog: pytest.LogCaptureFixture
) -> None:
    with kept_address() as address:
        async with trio.open_nursery() as nursery:
            client = Client(UpstreamAddress.parse(f"{scheme}://user:word@{address}/key"), seconds=LONG)
            await nursery.start(client.run)
            with pytest.raises(UpstreamError, match="unreachable"):
                await client.ask("eth_chainId", [])
            nursery.cancel_scope.cancel()
    (line,) = caplog.messages
    assert "Connection refused" in line
    assert "word" not in line
    assert "key" not in line


async def leave_and_come_back(port: int) -> None:
    async with trio.open_nursery() as nursery:
        async with trio.open_nursery() as first:
            await Provider(honest).listen(first, port)
            partner = await started(nursery, port)
            assert await partner.ask("eth_chainId", []) == "found"
            first.cancel_scope.cancel()
        with pytest.raises(UpstreamError, match="unreachable"):
            await partner.ask("eth_chainId", [])
        await Provider(honest).listen(nursery, port)
        assert await partner.ask("eth_chainId", []) == "found"
        nursery.cancel_scope.cancel()


async def test_a_connection_on_which_nothing_is_heard_is_given_up() -> None:
    behaviours = iter([falling_silent, honest])
    provider = Provider(lambda connection: next(behaviours)(connection))
    async with trio.open_nursery() as nursery:
        partner = await started(nursery, await provider.listen(nursery))
        assert await partner.ask("eth_chainId", []) == "found"
        partner.seconds = 0.3
        with pytest.raises(UpstreamError, match="timeout"):
            await partner.ask("eth_chainId", [])
        partner.seconds = LONG
        assert await partner.ask("eth_chainId", []) == "found"
        assert provider.connections == 2
        nursery.cancel_scope.cancel()


def test_the_key_in_its_address_is_not_shown() -> None:
    assert (
        str(Client(UpstreamAddress.parse("wss://user:secret@partner.example:1/ws/v3/secret")))
        == "wss://partner.example:1"
    )
