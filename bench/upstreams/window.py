"""Does a folder with a window stay as large as that, complete, and quick while it prunes?

    python -m bench.upstreams.window --geth PATH [--full] [--blocks 10000] [--window 128] [--filters 1000]

geth makes a block with a log for each transaction. Two nodes follow it, light ones or with --full such that
execute each block: one prunes to its window, the other's window is longer than the chain, so that it never
prunes. Meanwhile both are asked for the head by
turns, as often as they answer. Printed is the size of the first one's folder at tenths of the way, how long
replies took on either, and which share of them took more than 5 ms. In the end the logs of the window are
compared with geth's for random filters, and what is asked about blocks below must be refused with the block
that was asked for and the first that there is.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import trio
from trio_websocket import WebSocketConnection, open_websocket_url

from bench.follow import follower, share
from bench.lib.genesis import written_genesis
from bench.lib.nodes import Node
from bench.lib.started import geth_on
from wsnode.demo.accounts import ACCOUNTS
from wsnode.ethereum.state import sign_transaction

EMITTER = "0x6020356000355560203560005260003560206000a100"
"""Keeps the second word of its input in the slot of the first, and logs it under that."""
CONTRACTS = [f"0x{0xE000 + place:040x}" for place in range(4)]
TOPICS = 8
EPOCH = 32
"""Blocks after which geth's development chain calls its last one final, until then only its genesis."""
PAUSE = 0.002
"""Seconds between two questions."""
SLOW = 0.005
TOGETHER = 4
"""Blocks after which all wait for one another: who is behind asks for nothing else than blocks."""
BELOW: tuple[tuple[str, Any], ...] = (
    ("eth_getBlockByNumber", lambda number: [number, False]),
    ("eth_getBlockReceipts", lambda number: [number]),
    ("eth_getLogs", lambda number: [{"fromBlock": number}]),
    ("eth_getBalance", lambda number: [CONTRACTS[0], number]),
    ("eth_call", lambda number: [{"to": CONTRACTS[0]}, number]),
    ("eth_feeHistory", lambda number: ["0x1", number, []]),
)


def main() -> None:
    options = read_options(sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="window-") as folder:
        trio.run(measure, Path(folder), options)


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options; the program ends if nothing would be pruned."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--geth", type=Path, required=True)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--blocks", type=int, default=10_000)
    parser.add_argument("--window", type=int, default=128)
    parser.add_argument("--filters", type=int, default=1_000)
    options = parser.parse_args(arguments)
    if options.blocks <= (least := max(options.window, EPOCH)):
        parser.error(f"--blocks: more than {least}: a window begins at a final block, at most")
    return options


async def measure(temporary: Path, options: argparse.Namespace) -> None:
    contracts = {address: {"balance": "0x0", "code": EMITTER} for address in CONTRACTS}
    genesis = written_genesis(temporary, contracts)
    folders = {name: temporary / name for name in ("pruning", "keeping")}
    for folder in folders.values():
        folder.mkdir()
    windows = (str(options.window), str(2 * options.blocks))
    kind = () if options.full else ("--light",)
    kept = [(*kind, "--agree", "1", "--window", window) for window in windows]
    with (
        geth_on(options.geth, genesis, temporary, "--cache", "64") as geth,
        follower(folders["pruning"], genesis, geth.url, *kept[0]) as pruning,
        follower(folders["keeping"], genesis, geth.url, *kept[1]) as keeping,
    ):
        times: dict[str, list[float]] = {"pruning": [], "keeping": []}
        async with trio.open_nursery() as nursery:
            nursery.start_soon(probe, {"pruning": pruning, "keeping": keeping}, times)
            await grow(geth, [pruning, keeping], options.blocks, folders["pruning"])
            nursery.cancel_scope.cancel()
        report_times(times)
        await check(pruning, geth, options)


async def grow(geth: Node, followers: Sequence[Node], blocks: int, folder: Path) -> None:
    """Have a number of blocks be made, as fast as all keep up, and print the size of a folder at times."""
    chosen, every = random.Random(1), blocks // 10
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(open_websocket_url(each.url)) for each in (geth, *followers)]
        sender, heads = nodes[0], await stack.enter_async_context(open_websocket_url(geth.url))
        await ask(heads, "eth_subscribe", "newHeads")
        chain_id = int(await ask(sender, "eth_chainId"), 16)
        for number in range(blocks):
            await ask(sender, "eth_sendRawTransaction", transaction(chain_id, number, chosen))
            await heads.get_message()
            if number % TOGETHER == 0:
                for node in nodes:
                    await reached(node, number)
            if (number + 1) % every == 0:
                print(f"{number + 1:6} blocks: {folder_size(folder) / 2**20:6.1f} MiB", flush=True)


async def reached(node: WebSocketConnection, number: int) -> None:
    """Wait until a node has a block."""
    while int(await ask(node, "eth_blockNumber"), 16) < number:  # noqa: ASYNC110
        await trio.sleep(PAUSE)


def transaction(chain_id: int, nonce: int, chosen: random.Random) -> str:
    topic = chosen.randrange(TOPICS).to_bytes(32, "big")
    signed = sign_transaction(
        ACCOUNTS[0].secret,
        chain_id=chain_id,
        nonce=nonce,
        to=bytes.fromhex(chosen.choice(CONTRACTS)[2:]),
        value=0,
        input=topic + chosen.randbytes(32),
        gas=60_000,
        max_fee=10**11,
        max_priority_fee=10**9,
    )
    return f"0x{signed.hex()}"


def folder_size(folder: Path) -> int:
    """Return the bytes that a folder takes of the disk."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


async def probe(nodes: dict[str, Node], times: dict[str, list[float]]) -> None:
    """Ask nodes for their heads by turns, for ever, and note the seconds."""
    async with (
        open_websocket_url(nodes["pruning"].url) as pruning,
        open_websocket_url(nodes["keeping"].url) as keeping,
    ):
        while True:
            for name, node in (("pruning", pruning), ("keeping", keeping)):
                began = time.perf_counter()
                await ask(node, "eth_getBlockByNumber", "latest", False)
                times[name].append(time.perf_counter() - began)
                await trio.sleep(PAUSE)


def report_times(times: dict[str, list[float]]) -> None:
    for name, seconds in times.items():
        ordered = sorted(1e3 * each for each in seconds)
        parts = (0.5, 0.9, 0.99, 0.999)
        shares = " ".join(f"p{100 * part:g} {share(ordered, part):.2f}" for part in parts)
        slow = sum(each > SLOW for each in seconds) / len(seconds)
        print(f"{name}: {len(ordered):,} replies, ms: {shares}; over 5 ms: {slow:.3%}", flush=True)


async def check(light: Node, geth: Node, options: argparse.Namespace) -> None:
    """Compare the logs of the window with geth's, and look at what is refused."""
    async with open_websocket_url(light.url) as ours, open_websocket_url(geth.url) as theirs:
        last = int(await ask(theirs, "eth_blockNumber"), 16)
        await reached(ours, last)
        first = await settled(ours, theirs, options.window)
        print(f"the window is from block {first} to {last}", flush=True)
        chosen, found = random.Random(2), 0
        for _ in range(options.filters):
            wanted = random_filter(chosen, first, last)
            logs = await ask(ours, "eth_getLogs", wanted)
            assert logs == await ask(theirs, "eth_getLogs", wanted), wanted
            found += len(logs)
        print(f"{options.filters} filters: {found:,} logs, as geth's", flush=True)
        for method, params_of in BELOW:
            reply = await reply_to(ours, method, *params_of(hex(first - 1)))
            data = {"requested": hex(first - 1), "earliest": hex(first)}
            assert (reply["error"]["code"], reply["error"]["data"]) == (4444, data), (method, reply)
        print(f"{len(BELOW)} methods below the window: error 4444", flush=True)


async def settled(ours: WebSocketConnection, theirs: WebSocketConnection, window: int) -> int:
    """Return the first block, once it is where the window begins, by what geth calls final."""
    head = int(await ask(theirs, "eth_blockNumber"), 16)
    finalized = await ask(theirs, "eth_getBlockByNumber", "finalized", False)
    lowest = max(0, min(head - window + 1, int(finalized["number"], 16)))
    while int((await ask(ours, "wsnode_status"))["earliest"], 16) != lowest:  # noqa: ASYNC110
        await trio.sleep(0.1)
    return lowest


def random_filter(chosen: random.Random, first: int, last: int) -> dict[str, Any]:
    begin = chosen.randint(first, last)
    wanted: dict[str, Any] = {"fromBlock": hex(begin), "toBlock": hex(chosen.randint(begin, last))}
    if chosen.random() < 0.6:
        wanted["address"] = chosen.sample(CONTRACTS, chosen.randint(1, len(CONTRACTS)))
    if chosen.random() < 0.6:
        wanted["topics"] = [[f"0x{chosen.randrange(TOPICS + 1):064x}" for _ in range(chosen.randint(1, 3))]]
    return wanted


async def ask(node: WebSocketConnection, method: str, *params: Any) -> Any:
    """Return a call's result."""
    reply = await reply_to(node, method, *params)
    assert "result" in reply, reply
    return reply["result"]


async def reply_to(node: WebSocketConnection, method: str, *params: Sequence[Any] | Any) -> Any:
    """Return the reply to a call; notifications before it are left out."""
    await node.send_message(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    while "id" not in (reply := json.loads(await node.get_message())):
        pass
    return reply


if __name__ == "__main__":
    main()
