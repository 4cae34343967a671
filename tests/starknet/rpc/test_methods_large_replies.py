"""A class of 1.39 MB, over the wire."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator

import pytest
import trio
from trio_websocket import open_websocket_url
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect

from tests.vector_files import require_vectors
from wsnode.server.accepting import serve
from wsnode.server.access.router import Network
from wsnode.server.server import Server
from wsnode.server.transport.sockets import open_tcp
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.rpc.methods import build_registry
from wsnode.sync.starknet_folder import import_folder

pytestmark = pytest.mark.slow

CONTRACT = "0x1d8805ae5c603b8e190e8af0d7b4617c51900f30b06bedfbf837def01c8f5e4"
REQUEST = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "alt_getClassAt",
        "params": {"block_id": "latest", "contract_address": CONTRACT},
    }
)
BLOCK_NUMBER = '{"jsonrpc":"2.0","id":2,"method":"alt_blockNumber"}'


@pytest.fixture
async def url(fresh: StarknetChain) -> AsyncIterator[str]:
    single, rpc = require_vectors("starknet/single/mainnet_550000.json.gz"), require_vectors("starknet/rpc")
    await import_folder(fresh, single, rpc, first_block=550000)
    server = Server([Network("main", build_registry(), lambda _caller: fresh.snapshot())])
    listeners = open_tcp("127.0.0.1", 0)
    async with trio.open_nursery() as nursery:
        await nursery.start(serve, server, listeners)
        yield f"ws://127.0.0.1:{listeners[0].getsockname()[1]}/ws/v3/key"
        nursery.cancel_scope.cancel()


async def test_a_client_with_room_for_it_gets_the_whole_class(url: str) -> None:
    expected = json.loads(
        gzip.decompress(require_vectors("starknet/rpc/class_0x816dd029.json.gz").read_bytes())
    )
    async with open_websocket_url(url, max_message_size=64 * 1024 * 1024) as client:
        await client.send_message(REQUEST)
        reply = json.loads(await client.get_message())
    assert reply["result"] == expected["result"]


def ask_with_default_limits(url: str) -> None:
    with connect(url) as client:
        client.send(REQUEST)
        client.recv()


async def test_a_client_with_less_room_closes_by_itself_and_the_others_go_on(url: str) -> None:
    async with open_websocket_url(url) as other:
        with pytest.raises(ConnectionClosedError, match="1009"):
            await trio.to_thread.run_sync(ask_with_default_limits, url)
        await other.send_message(BLOCK_NUMBER)
        assert json.loads(await other.get_message())["result"] == 550000
