"""A bot as web3.py's documentation has it: `python bot_web3.py URL EMITTER`."""

import asyncio
import json
import os
import sys
import threading
from typing import Any

from web3 import AsyncWeb3, WebSocketProvider
from web3.utils.subscriptions import LogsSubscription, NewHeadsSubscription, PendingTxSubscription

NOTE = "0x61f50134ade1da4c6b1a14d45cbd893d0e82be8c83d9bd57c3920a0b8a934fb3"
RARE = f"0x{1:064x}"


def say(**event: Any) -> None:
    print(json.dumps(event), flush=True)


def end_with_the_input() -> None:
    sys.stdin.read()
    os._exit(0)


def place(log: Any) -> list[Any]:
    return ["0x" + log["blockHash"].hex(), log["logIndex"], log["removed"], int(log["topics"][1].hex(), 16)]


async def on_log(context: Any) -> None:
    # A call for each event, as bots have it.
    await context.async_w3.eth.get_balance(context.result["address"])
    say(log=place(context.result))


async def on_rare(context: Any) -> None:
    say(rare=place(context.result))


async def on_head(context: Any) -> None:
    say(head=context.result["number"])


async def on_pending(context: Any) -> None:
    say(pending="0x" + context.result.hex())


async def main(url: str, emitter: str) -> None:
    provider = WebSocketProvider(url)
    async with AsyncWeb3(provider) as w3:
        await w3.subscription_manager.subscribe(
            [
                LogsSubscription(address=w3.to_checksum_address(emitter), handler=on_log),
                LogsSubscription(
                    address=w3.to_checksum_address(emitter), topics=[NOTE, RARE], handler=on_rare
                ),
                NewHeadsSubscription(handler=on_head),
                PendingTxSubscription(handler=on_pending),
            ]
        )
        await w3.subscription_manager.handle_subscriptions()


threading.Thread(target=end_with_the_input, daemon=True).start()
asyncio.run(main(*sys.argv[1:]))
