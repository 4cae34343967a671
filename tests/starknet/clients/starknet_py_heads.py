"""Watches a growing chain through starknet.py: WS_URL FIRST_BLOCK COUNT; prints numbers and hashes."""

import asyncio
import json
import sys
from typing import Any

from starknet_py.net.websockets.websocket_client import WebsocketClient  # type: ignore[import-not-found]


async def main(url: str, first: int, count: int) -> dict[str, Any]:
    client = WebsocketClient(node_url=url)
    await client.connect()
    told: list[Any] = []
    all_told = asyncio.Event()

    def take(notification: Any) -> None:
        told.append([notification.result.block_number, hex(notification.result.block_hash)])
        if len(told) == count:
            all_told.set()

    identity = await client.subscribe_new_heads(handler=take, block_number=first)
    await all_told.wait()
    ended = await client.unsubscribe(identity)
    await client.disconnect()
    return {"whole": told, "unsubscribed": ended}


url, first, count = sys.argv[1:]
print(json.dumps(asyncio.run(main(url, int(first), int(count)))))
