"""Arrival of heads at a subscriber, in the form of either family."""

import time
from collections import Counter
from typing import Final, NamedTuple

import msgspec
import trio
from trio_websocket import open_websocket_url

MAX_MESSAGE_BYTES: Final = 64 << 20


class HeadSubscription(NamedTuple):
    """Request that subscribes to heads, and the member of a head with its hash."""

    request: str
    member: str


ETHEREUM: Final = HeadSubscription(
    '{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}', "hash"
)
STARKNET: Final = HeadSubscription(
    '{"jsonrpc":"2.0","id":1,"method":"starknet_subscribeNewHeads","params":{}}', "block_hash"
)


class Heads:
    """Times at which a subscriber of a node's heads got blocks."""

    def __init__(self, subscription: HeadSubscription) -> None:
        self._subscription = subscription
        self.arrived: dict[str, float] = {}
        self.count = Counter[str]()

    async def listen(self, url: str, task_status: trio.TaskStatus[None]) -> None:
        """Record the blocks that a node sends, for ever."""
        async with open_websocket_url(url, max_message_size=MAX_MESSAGE_BYTES) as socket:
            await socket.send_message(self._subscription.request)
            await socket.get_message()
            task_status.started()
            while True:
                message = msgspec.json.decode(await socket.get_message())
                if "method" in message:
                    block_hash = message["params"]["result"].get(self._subscription.member)
                    self.arrived.setdefault(block_hash, time.perf_counter())
                    self.count[block_hash] += 1
