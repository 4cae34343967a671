"""Says values and results of calls after each change: `python state_trio.py URL EMITTER ACCOUNT…`."""

import json
import os
import sys
import threading

import trio
from watching_trio import watch_calls, watch_state


def say(**event: object) -> None:
    print(json.dumps(event), flush=True)


def end_with_the_input() -> None:
    sys.stdin.read()
    os._exit(0)


async def main(*arguments: str) -> None:
    url, emitter, *accounts = arguments
    async with trio.open_nursery() as nursery:
        nursery.start_soon(say_states, url, emitter, accounts)
        nursery.start_soon(say_results, url, accounts)


async def say_results(url: str, accounts: list[str]) -> None:
    # The balances of the accounts, and a revert.
    calls = [{"data": f"0x73{each[2:]}315f5260205ff3"} for each in accounts]
    async with watch_calls(url, [*calls, {"data": "0x5f5ffd"}], interval=0.05) as found:
        async for results in found:
            say(calls=[results.block_hash, results.results])


async def say_states(url: str, emitter: str, accounts: list[str]) -> None:
    async with watch_state(url, accounts=accounts, slots={emitter: ["0x0"]}, interval=0.05) as states:
        async for state in states:
            say(state=[state.block_hash, state.accounts])


threading.Thread(target=end_with_the_input, daemon=True).start()
trio.run(main, *sys.argv[1:])
