"""Says values and results of calls after each change: `python state_web3.py URL EMITTER ACCOUNT…`."""

import asyncio
import json
import os
import sys
import threading

from watching_web3 import Results, State, watch_calls, watch_state
from web3 import AsyncWeb3, WebSocketProvider


def say(**event: object) -> None:
    print(json.dumps(event), flush=True)


def end_with_the_input() -> None:
    sys.stdin.read()
    os._exit(0)


async def on_state(state: State) -> None:
    say(state=[state.block_hash, state.accounts])


async def on_results(found: Results) -> None:
    say(calls=[found.block_hash, found.results])


async def main(url: str, emitter: str, *accounts: str) -> None:
    provider = WebSocketProvider(url)
    async with AsyncWeb3(provider) as w3:
        # What the program reads by itself has nothing to do with what it watches.
        await w3.eth.subscribe("newHeads")
        await watch_state(w3, on_state, accounts=accounts, slots={emitter: ["0x0"]}, interval=0.05)
        # The balances of the accounts, and a revert.
        calls = [{"data": f"0x73{each[2:]}315f5260205ff3"} for each in accounts]
        await watch_calls(w3, on_results, [*calls, {"data": "0x5f5ffd"}], interval=0.05)
        async for message in w3.socket.process_subscriptions():
            say(head=message["result"]["number"])


threading.Thread(target=end_with_the_input, daemon=True).start()
asyncio.run(main(*sys.argv[1:]))
