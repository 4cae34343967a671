"""Calls that this node cannot answer are answered by an upstream, unchanged, within bounds."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from trio_websocket import WebSocketConnection

from tests.sync.starknet.made_chain import MadeChain, MadeNode
from tests.sync.starknet.world import World, followed
from tests.upstream.providers import Error, SocketProvider
from wsnode.jsonrpc.errors import RpcError
from wsnode.starknet.rpc.forwarded.methods import FORWARDED
from wsnode.sync.follow.sync_report import SyncStage
from wsnode.sync.follow.upstream import PeerState, Upstream, Upstreams
from wsnode.sync.starknet import forwarder as module
from wsnode.sync.starknet.forwarder import StarknetForwarder
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.client import Client

REQUEST = {"contract_address": "0x1", "entry_point_selector": "0x2", "calldata": ["0x3"]}
SENT = {"type": "INVOKE", "version": "0x3", "calldata": ["0x01"]}
CALLS: dict[str, list[Any]] = {
    "call": [REQUEST, "latest"],
    "estimateFee": [[SENT], [], "latest"],
    "estimateMessageFee": [{"from_address": "0x1"}, "latest"],
    "simulateTransactions": ["latest", [SENT], ["SKIP_VALIDATE"]],
    "traceTransaction": ["0x5"],
    "traceBlockTransactions": ["latest"],
    "getCompiledCasm": ["0x6"],
    "getMessagesStatus": ["0x7"],
    "addInvokeTransaction": [SENT],
    "addDeclareTransaction": [SENT],
    "addDeployAccountTransaction": [SENT],
}


@pytest.fixture
def made() -> MadeChain:
    chain = MadeChain()
    chain.grow(3)
    return chain


def echo(name: str, params: Any) -> Any:
    return {"of": name, "params": params, "n": [1, {"x": "0x00Ab"}]}


def named(name: str, *_call: Any) -> Any:
    return [name]


async def at_head(world: World, made: MadeChain) -> None:
    await world.until_at(made)
    await world.until(lambda: world.follower.stage is SyncStage.LIVE)


async def test_every_reply_is_the_upstreams(tmp_path: Path, nursery: trio.Nursery, made: MadeChain) -> None:
    node = MadeNode(made, nursery)
    for name in CALLS:
        node.answers[name] = partial(echo, name)
    async with followed(tmp_path, {"a": node}) as world:
        await at_head(world, made)
        for family in ("starknet", "alt"):
            for name, params in CALLS.items():
                struct = FORWARDED[name].params
                members = dict(zip(struct.__struct_fields__, params, strict=False))
                asked = (
                    (await world.call(f"starknet_{name}", *params))
                    if family == "starknet"
                    else (await world.call(f"alt_{name}", **members))
                )
                is_of_block = "block_id" in members
                sent = members | ({"block_id": {"block_hash": made.head.hash}} if is_of_block else {})
                assert asked == {"of": name, "params": sent, "n": [1, {"x": "0x00Ab"}]}
        assert world.follower.forwarder.outcomes == {(name, "answered"): 2 for name in FORWARDED}
    assert CALLS.keys() == FORWARDED.keys()


@pytest.mark.parametrize(
    ("block_id", "sent"),
    [
        ({"block_number": 1}, None),
        ({"block_number": 99}, {"block_number": 99}),
        ({"block_hash": "0x00AB"}, {"block_hash": "0xab"}),
        ("pending", "pre_confirmed"),
        ("pre_confirmed", "pre_confirmed"),
    ],
)
async def test_a_block_that_is_stored_is_passed_on_by_its_hash(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain, block_id: Any, sent: Any
) -> None:
    node = MadeNode(made, nursery)
    node.answers["call"] = lambda params: [params["block_id"]]
    async with followed(tmp_path, {"a": node}) as world:
        await at_head(world, made)
        (told,) = await world.call("starknet_call", REQUEST, block_id)
        assert told == ({"block_hash": made.blocks[1].hash} if sent is None else sent)


async def test_an_error_is_the_upstreams_too(tmp_path: Path, nursery: trio.Nursery, made: MadeChain) -> None:
    told = Error(40, "Contract error " + "x" * 5000, {"revert_error": ["0x1", {"deep": 2}]})
    nodes = {name: MadeNode(made, nursery) for name in "ab"}
    for node in nodes.values():
        node.answers["call"] = lambda _params: told
    async with followed(tmp_path, nodes) as world:
        await at_head(world, made)
        await world.until(lambda: len(world.follower.upstreams.usable) == 2)
        error = await world.call("starknet_call", REQUEST, "latest")
        assert error == {"code": told.code, "message": told.message, "data": told.data}
        assert world.follower.forwarder.outcomes == {("call", "refused"): 1}
    assert sum(node.asked["call"] for node in nodes.values()) == 1


@pytest.mark.parametrize(
    "told",
    [
        Error(24, "Block not found"),
        Error(-32601, "Method not found"),
        Error(429, "HTTP 429"),
        Error(503, "HTTP 503"),
    ],
)
async def test_an_upstream_that_lacks_something_is_not_the_last(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain, told: Error
) -> None:
    nodes = {name: MadeNode(made, nursery) for name in "ab"}
    answers: list[Any] = [["0x1"], told]
    for node in nodes.values():
        node.answers["call"] = lambda _params: answers.pop()
    async with followed(tmp_path, nodes) as world:
        await at_head(world, made)
        await world.until(lambda: len(world.follower.upstreams.usable) == 2)
        assert await world.call("starknet_call", REQUEST, "latest") == ["0x1"]
        answers += [told, told]
        error = await world.call("starknet_call", REQUEST, "latest")
        if told.code == 24:
            assert error == {"code": 24, "message": "Block not found"}
        else:
            assert error == {
                "code": -32000,
                "message": "no upstream answers",
                "data": {"reason": f"refused: {told.message} ({told.code})", "tried": 2},
            }


async def test_an_upstream_of_the_paths_version_is_asked_first(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    nodes = {"a": MadeNode(made, nursery, "0.9.0"), "b": MadeNode(made, nursery, "0.10.3")}
    for name, node in nodes.items():
        node.answers["call"] = partial(named, name)
    async with followed(tmp_path, nodes) as world:
        await at_head(world, made)
        await world.until(lambda: len(world.follower.upstreams.usable) == 2)
        for version, name in (("v0_9", "a"), ("v0_10", "b"), (None, "b")):
            assert await world.call("starknet_call", REQUEST, "latest", version=version) == [name]


class SlowProvider(SocketProvider):
    """Answers each call after some seconds."""

    seconds = 0.0

    async def _reply(self, connection: WebSocketConnection, call: Any) -> None:
        await trio.sleep(self.seconds)
        await super()._reply(connection, call)


@pytest.mark.parametrize(
    ("seconds", "told", "taken"),
    [((19, 0), "0x0", 19), ((21, 9), "0x1", 29), ((21, 11), "timeout", 30)],
)
async def test_silent_upstreams_are_given_up_in_time(
    nursery: trio.Nursery, autojump_clock: object, seconds: tuple[int, int], told: str, taken: int
) -> None:
    upstreams: list[Upstream] = []
    for place, delay in enumerate(seconds):
        provider = SlowProvider(nursery, partial(named, hex(place)))
        provider.seconds = delay
        client = Client(UpstreamAddress.parse(f"ws://{place}/"), connect=provider.connect)
        upstreams.append(Upstream(str(place), client))
        upstreams[-1].standing = PeerState.FOLLOWED
        await nursery.start(client.run)
    forwarder = StarknetForwarder(Upstreams(upstreams), lambda: 0)
    began = trio.current_time()
    if told == "timeout":
        with pytest.raises(RpcError) as refused:
            await forwarder.forward("call", {}, rpc_version="v0_10")
        assert (refused.value.code, refused.value.message) == (-32000, "no upstream answers")
        assert refused.value.data == {"reason": "timeout", "tried": 2}
    else:
        assert json.loads(await forwarder.forward("call", {}, rpc_version="v0_10")) == [told]
    assert trio.current_time() - began == pytest.approx(taken)
    assert forwarder.outcomes == {("call", "failed" if told == "timeout" else "answered"): 1}


async def test_without_a_followed_upstream_nobody_answers(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    node = MadeNode(made, nursery)
    node.provider.is_gone = True
    async with followed(tmp_path, {"a": node}) as world:
        error = await world.call("starknet_traceTransaction", "0x1")
        assert error == {
            "code": -32000,
            "message": "no upstream answers",
            "data": {"reason": "unreachable: no upstream is followed now", "tried": 0},
        }


@pytest.mark.parametrize("is_error", [False, True])
async def test_a_reply_up_to_the_bound_is_passed_on(
    tmp_path: Path,
    nursery: trio.Nursery,
    made: MadeChain,
    monkeypatch: pytest.MonkeyPatch,
    is_error: bool,
) -> None:
    node = MadeNode(made, nursery)
    told: Any = Error(40, "error", "x" * 93) if is_error else "x" * 98
    node.answers["call"] = lambda _params: told
    async with followed(tmp_path, {"a": node}) as world:
        await at_head(world, made)
        monkeypatch.setattr(module, "MAX_FORWARDED_BYTES", 100)
        passed = await world.call("starknet_call", REQUEST, "latest")
        assert passed == ({"code": 40, "message": "error", "data": "x" * 93} if is_error else told)
        monkeypatch.setattr(module, "MAX_FORWARDED_BYTES", 99)
        error = await world.call("starknet_call", REQUEST, "latest")
        assert error == {"code": -32003, "message": "response too large"}


async def test_calls_beyond_the_bound_are_refused(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = MadeNode(made, nursery)
    node.answers["call"] = lambda _params: ["0x1"]
    async with followed(tmp_path, {"a": node}) as world:
        await at_head(world, made)
        monkeypatch.setattr(module, "MAX_FORWARDED", 1)
        assert await world.call("starknet_call", REQUEST, "latest") == ["0x1"]
        monkeypatch.setattr(module, "MAX_FORWARDED", 0)
        error = await world.call("starknet_call", REQUEST, "latest")
        assert (error["code"], error["message"]) == (-32005, "too many calls are forwarded")


async def test_the_status_of_an_unknown_transaction_is_the_upstreams(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    node = MadeNode(made, nursery)
    node.answers["getTransactionStatus"] = lambda params: (
        {"finality_status": "RECEIVED"} if params["transaction_hash"] == "0xab" else Error(29, "not found")
    )
    async with followed(tmp_path, {"a": node}) as world:
        await at_head(world, made)
        assert await world.call("starknet_getTransactionStatus", "0x0AB") == {"finality_status": "RECEIVED"}
        assert await world.call("starknet_getTransactionStatus", "0xac") == {
            "code": 29,
            "message": "not found",
        }
        known = made.blocks[2].block["transactions"][0]["receipt"]["transaction_hash"]
        told = await world.call("starknet_getTransactionStatus", known)
        assert told["execution_status"] == "SUCCEEDED"
    assert node.asked["getTransactionStatus"] == 2
