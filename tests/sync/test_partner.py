"""A partner provider over real sockets: honest, slow, rude, gone and back."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec
import pytest
import trio
from trio_websocket import ConnectionClosed, WebSocketConnection, WebSocketRequest, serve_websocket

from wsnode.ethereum.rpc.forwarding import PartnerError
from wsnode.sync.partner import Partner

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


async def rude(connection: WebSocketConnection) -> None:
    await asked(connection)
    await connection.send_message("{")
    await trio.sleep_forever()


async def leaving(connection: WebSocketConnection) -> None:
    await asked(connection)


async def started(nursery: trio.Nursery, port: int, seconds: float = 5) -> Partner:
    partner = Partner(f"ws://127.0.0.1:{port}/ws/v3/secret", seconds=seconds)
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
    ("converse", "reason"),
    [(refusing, "refused"), (silent, "timeout"), (rude, "unreachable"), (leaving, "unreachable")],
)
async def test_what_is_no_answer_is_an_error_in_time(converse: Conversation, reason: str) -> None:
    async with trio.open_nursery() as nursery:
        partner = await started(nursery, await Provider(converse).listen(nursery), seconds=0.3)
        with trio.fail_after(2), pytest.raises(PartnerError) as raised:
            await partner.ask("eth_chainId", [])
        assert raised.value.reason == reason
        nursery.cancel_scope.cancel()


async def test_a_key_that_is_refused_is_an_error_each_time() -> None:
    async def refuse(request: WebSocketRequest) -> None:
        await request.reject(401)

    async with trio.open_nursery() as nursery:
        server = await nursery.start(serve_websocket, refuse, "127.0.0.1", 0, None)
        partner = await started(nursery, server.port)
        for _ in range(2):
            with pytest.raises(PartnerError, match="unreachable"):
                await partner.ask("eth_chainId", [])
        nursery.cancel_scope.cancel()


async def test_nobody_there_is_an_error_and_somebody_later_is_found() -> None:
    async with trio.open_nursery() as nursery:
        async with trio.open_nursery() as first:
            port = await Provider(honest).listen(first)
            partner = await started(nursery, port)
            assert await partner.ask("eth_chainId", []) == "found"
            first.cancel_scope.cancel()
        with pytest.raises(PartnerError, match="unreachable"):
            await partner.ask("eth_chainId", [])
        await Provider(honest).listen(nursery, port)
        assert await partner.ask("eth_chainId", []) == "found"
        nursery.cancel_scope.cancel()


async def test_a_connection_on_which_nothing_is_heard_is_given_up() -> None:
    behaviours = iter([silent, honest])
    provider = Provider(lambda connection: next(behaviours)(connection))
    async with trio.open_nursery() as nursery:
        partner = await started(nursery, await provider.listen(nursery), seconds=0.3)
        with pytest.raises(PartnerError, match="timeout"):
            await partner.ask("eth_chainId", [])
        assert await partner.ask("eth_chainId", []) == "found"
        assert provider.connections == 2
        nursery.cancel_scope.cancel()


def test_the_key_in_its_address_is_not_shown() -> None:
    assert str(Partner("wss://partner.example/ws/v3/secret")) == "partner.example"
