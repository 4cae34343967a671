"""A bot on trio: `python bot_trio.py URL EMITTER`."""

import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import trio
from resuming_trio import HistoryGoneError, subscription

NOTE = "0x61f50134ade1da4c6b1a14d45cbd893d0e82be8c83d9bd57c3920a0b8a934fb3"
RARE = f"0x{1:064x}"


def say(**event: Any) -> None:
    print(json.dumps(event), flush=True)


def end_with_the_input() -> None:
    sys.stdin.read()
    os._exit(0)


async def watch(url: str, tell: Callable[[Any], None], kind: str, *options: Any) -> None:
    while True:
        try:
            async with subscription(url, kind, *options) as events:
                async for event in events:
                    tell(event)
        except HistoryGoneError as error:
            say(error=str(error), kind="HistoryGoneError")


def place(log: dict[str, Any]) -> list[Any]:
    return [log["blockHash"], int(log["logIndex"], 16), log["removed"], int(log["topics"][1], 16)]


async def main(url: str, emitter: str) -> None:
    rare = {"address": emitter, "topics": [NOTE, RARE]}
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch, url, lambda log: say(log=place(log)), "logs", {"address": emitter})
        nursery.start_soon(watch, url, lambda log: say(rare=place(log)), "logs", rare)
        nursery.start_soon(watch, url, lambda head: say(head=int(head["number"], 16)), "newHeads")
        nursery.start_soon(watch, url, lambda pending: say(pending=pending), "newPendingTransactions")


threading.Thread(target=end_with_the_input, daemon=True).start()
trio.run(main, sys.argv[1], sys.argv[2])
