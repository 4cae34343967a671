"""web3.py subscribes in a loop that connects again: `python web3_client.py URL EMITTER`."""

import asyncio
import json
import os
import sys
import threading
from typing import Any

from web3 import AsyncWeb3, WebSocketProvider
from websockets.exceptions import ConnectionClosed


def say(**event: Any) -> None:
    print(json.dumps(event), flush=True)


def end_with_the_input() -> None:
    sys.stdin.read()
    os._exit(0)


async def watch(url: str, emitter: str) -> None:
    # Of pings it would hear nothing while it does not read.
    async for w3 in AsyncWeb3(WebSocketProvider(url, websocket_kwargs={"ping_interval": None})):
        try:
            kinds = {
                await w3.eth.subscribe("newHeads"): "head",
                await w3.eth.subscribe("logs", {"address": emitter}): "log",
                await w3.eth.subscribe("newPendingTransactions"): "pending",
            }
            async for message in w3.socket.process_subscriptions():
                tell(kinds[message["subscription"]], message["result"])
            # A close with 1001 ends the messages without an error.
            say(closed=1001)
        except ConnectionClosed as closed:
            say(closed=None if closed.rcvd is None else closed.rcvd.code)
        break
    # It would go on trying to connect, and give up after a while.
    await asyncio.Event().wait()


def tell(kind: str, result: Any) -> None:
    match kind:
        case "head":
            say(head=result["number"])
        case "log":
            say(log=[result["blockNumber"], result["logIndex"]])
        case _:
            say(pending=f"0x{bytes(result).hex()}")


threading.Thread(target=end_with_the_input, daemon=True).start()
asyncio.run(watch(*sys.argv[1:]))
