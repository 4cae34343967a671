"""The helper for web3.py hands over all that a node in memory says, at whatever moment that comes."""

import asyncio
import importlib
import json
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import pytest

from tests.clients.resuming.bots import CLIENTS

web3 = pytest.importorskip("web3")

SUBSCRIPTION: Final = "0x51"
OTHER: Final = "0x52"
"""A subscription to heads."""
LOOPS: Final = (("handle",), ("process",), ("handle", "process"), ())
"""The loops over subscriptions that a program runs beside the helper."""
BLOCK: Final = {"number": "0x1", "hash": "0x01", "timestamp": "0x1"}
PATIENCE: Final = 60
PLACE: Final = {"blockNumber": "0x1", "blockHash": "0x01", "timestamp": "0x1"}
REVERT: Final = {"code": 3, "message": "execution reverted", "data": "0x"}
ACCOUNT: Final = "0x00000000000000000000000000000000000000aa"
FIRST: Final = {
    "state": PLACE | {"complete": True, "accounts": {ACCOUNT: {"balance": "0x1", "nonce": "0x7"}}},
    "calls": PLACE
    | {"complete": True, "results": [{"index": 0, "result": "0x01"}, {"index": 1, "error": REVERT}]},
}
LATER: Final = {
    "state": PLACE | {"blockNumber": "0x2", "accounts": {ACCOUNT: {"balance": "0x2"}}},
    "calls": PLACE | {"blockNumber": "0x2", "results": [{"index": 0, "result": "0x02"}]},
}
HELD: Final[dict[str, list[Any]]] = {
    "state": [{ACCOUNT: {"balance": balance, "nonce": "0x7"}} for balance in ("0x1", "0x2")],
    "calls": [[{"result": result}, {"error": REVERT}] for result in ("0x01", "0x02")],
}

Answer = Callable[[str], list[dict[str, Any]]]
"""What a node sends for a request of a method, at once: replies without their number, and notifications."""


class Wire:
    """A connection in memory, from which the provider reads all that is there without waiting."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def send(self, request_data: bytes) -> None:
        request = json.loads(request_data)
        for message in self._answer(request["method"]):
            number = {} if "method" in message else {"id": request["id"]}
            self._messages.put_nowait({"jsonrpc": "2.0"} | number | message)

    async def read(self) -> dict[str, Any]:
        return await self._messages.get()

    async def nothing(self) -> None:
        """Connect, or disconnect."""


def connected(answer: Answer) -> Any:
    """Return an `AsyncWeb3` of the stock provider that is to be connected, on a wire in memory."""
    provider, wire = web3.WebSocketProvider("ws://memory"), Wire(answer)
    provider.socket_send, provider._provider_specific_socket_reader = wire.send, wire.read
    provider._provider_specific_connect = provider._provider_specific_disconnect = wire.nothing
    return web3.AsyncWeb3(provider)


def notification(result: Any, name: str = SUBSCRIPTION) -> dict[str, Any]:
    return {"method": "eth_subscription", "params": {"subscription": name, "result": result}}


def head(number: int) -> dict[str, Any]:
    return notification({"number": hex(number)}, OTHER)


async def read(w3: Any, loop: str, heads: list[int]) -> None:
    """Run one of web3's loops over subscriptions, and note the numbers of the heads that come there."""
    if loop == "handle":
        await w3.subscription_manager.handle_subscriptions(run_forever=True)
    async for message in w3.socket.process_subscriptions():
        assert message["subscription"] == OTHER
        heads.append(message["result"]["number"])


@pytest.fixture
def helper(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the helper's module."""
    monkeypatch.syspath_prepend(str(CLIENTS))
    return importlib.import_module("watching_web3")


async def watch(helper: Any, w3: Any, kind: str, hear: Callable[[Any], Awaitable[None]]) -> Any:
    if kind == "state":
        return await helper.watch_state(w3, hear, accounts=[ACCOUNT], interval=0)
    return await helper.watch_calls(w3, hear, [{"data": "0x01"}, {"data": "0x02"}], interval=0)


async def heard(helper: Any, kind: str, answer: Answer, count: int) -> list[Any]:
    """Return what the first changes hold."""
    found: list[Any] = []
    ends = asyncio.Event()

    async def hear(change: Any) -> None:
        held = change.accounts if kind == "state" else change.results
        found.append(json.loads(json.dumps(held, default=dict)))
        if len(found) == count:
            ends.set()

    async with asyncio.timeout(PATIENCE), connected(answer) as w3:
        unwatch = await watch(helper, w3, kind, hear)
        handling = asyncio.create_task(w3.subscription_manager.handle_subscriptions(run_forever=True))
        ending = asyncio.create_task(ends.wait())
        await asyncio.wait((handling, ending), return_when=asyncio.FIRST_COMPLETED)
        if handling.done():
            ending.cancel()
            await handling
        await unwatch()
        handling.cancel()
        await asyncio.wait((handling,))
    return found


async def heard_beside(
    helper: Any, kind: str, answer: Answer, loops: Sequence[str]
) -> tuple[list[Any], list[int]]:
    """Return what two changes hold, and the heads of which a program hears that runs these loops."""
    found: list[Any] = []
    heads: list[int] = []

    async def hear(change: Any) -> None:
        held = change.accounts if kind == "state" else change.results
        found.append(json.loads(json.dumps(held, default=dict)))

    async with asyncio.timeout(PATIENCE), connected(answer) as w3:
        await w3.eth.subscribe("newHeads")
        reading = [asyncio.create_task(read(w3, loop, heads)) for loop in loops]
        unwatch = await watch(helper, w3, kind, hear)
        while len(found) < 2 or ("process" in loops and len(heads) < 4):
            assert not any(task.done() for task in reading)
            await asyncio.sleep(0)
        await unwatch()
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
    return found, heads


@pytest.mark.parametrize("kind", ["state", "calls"])
def test_values_that_come_with_the_reply_are_handed_over(kind: str, helper: Any) -> None:
    def answer(method: str) -> list[dict[str, Any]]:
        if method == "eth_subscribe":
            return [{"result": SUBSCRIPTION}, notification(FIRST[kind]), notification(LATER[kind])]
        return [{"result": True}]

    assert asyncio.run(heard(helper, kind, answer, 2)) == HELD[kind]


@pytest.mark.parametrize("kind", ["state", "calls"])
@pytest.mark.parametrize("loops", LOOPS)
def test_a_program_that_reads_its_own_subscriptions_misses_nothing(
    kind: str, loops: Sequence[str], helper: Any
) -> None:
    """Notifications of both kinds come in one piece with the reply, and are read meanwhile."""
    names = iter((OTHER, SUBSCRIPTION))

    def answer(method: str) -> list[dict[str, Any]]:
        if method != "eth_subscribe":
            return [{"result": True}]
        if (name := next(names)) == OTHER:
            return [{"result": OTHER}, head(1)]
        told = [FIRST[kind], LATER[kind]]
        return [head(2), {"result": name}, head(3), *map(notification, told), head(4)]

    held, heads = asyncio.run(heard_beside(helper, kind, answer, loops))
    assert (held, heads) == (HELD[kind], [1, 2, 3, 4] if "process" in loops else [])


@pytest.mark.parametrize("loop", ["handle", "process"])
@pytest.mark.parametrize("is_polled", [False, True], ids=["subscribed", "polled"])
def test_an_error_of_who_watches_ends_the_loop_over_subscriptions(
    loop: str, is_polled: bool, helper: Any
) -> None:
    def answer(method: str) -> list[dict[str, Any]]:
        if method == "eth_subscribe":
            refusal = {"error": {"code": -32601, "message": "no"}}
            return [refusal] if is_polled else [{"result": SUBSCRIPTION}, notification(FIRST["calls"])]
        return [{"result": BLOCK} if method == "eth_getBlockByNumber" else {"result": "0x01"}]

    async def run() -> None:
        async def hear(_change: Any) -> None:
            raise ZeroDivisionError

        async with asyncio.timeout(PATIENCE), connected(answer) as w3:
            await watch(helper, w3, "calls", hear)
            await read(w3, loop, [])

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run())


def test_a_refusal_that_is_not_of_the_kind_is_an_error(helper: Any) -> None:
    def answer(_method: str) -> list[dict[str, Any]]:
        return [{"error": {"code": -32005, "message": "too many live calls"}}]

    with pytest.raises(web3.exceptions.Web3RPCError, match="too many live calls"):
        asyncio.run(heard(helper, "calls", answer, 1))


def test_nothing_is_handed_over_after_the_end_of_a_watch(helper: Any) -> None:
    """The watch is ended by who hears of its first values, while later ones wait."""

    def answer(method: str) -> list[dict[str, Any]]:
        later = notification(LATER["calls"])
        if method == "eth_subscribe":
            return [{"result": SUBSCRIPTION}, notification(FIRST["calls"]), later]
        return [later, {"result": True}]

    async def run() -> None:
        found: list[Any] = []
        has_ended = asyncio.Event()

        async def hear(change: Any) -> None:
            found.append(change)
            await unwatch()
            assert w3.subscription_manager.subscriptions == []
            has_ended.set()

        async with asyncio.timeout(PATIENCE), connected(answer) as w3:
            unwatch = await watch(helper, w3, "calls", hear)
            await has_ended.wait()
            # A later watch of the same connection has all that is its own.
            again = asyncio.Event()

            async def hear_again(_change: Any) -> None:
                again.set()

            await watch(helper, w3, "calls", hear_again)
            await again.wait()
        assert len(found) == 1

    asyncio.run(run())


def test_a_polled_node_may_refuse_and_revert(helper: Any) -> None:
    # The first look fails, as the block has left the chain.
    calls: deque[dict[str, Any]] = deque(
        [{"error": {"code": -32000, "message": "no"}}, {"result": "0x01"}, {"error": REVERT}]
    )

    def answer(method: str) -> list[dict[str, Any]]:
        if method == "eth_subscribe":
            return [{"error": {"code": -32601, "message": "no"}}]
        return [{"result": BLOCK} if method == "eth_getBlockByNumber" else calls.popleft()]

    assert asyncio.run(heard(helper, "calls", answer, 1)) == HELD["calls"][:1]
