"""What does a light folder cost: until its first answer, for a call, and in requests a block?

    python -m bench.upstreams.light --geth PATH [--contracts 100] [--calls 300] [--blocks 20]

geth makes a block a second. A light and a full node follow it, each from a new folder. Printed is how long
each takes from the start of its process to the first answer of a call at geth's head; then the time of a call
of one contract at one block, whose values are known by then, on both and on geth. In the end a client asks
the light node for `eth_call` of many contracts at each new block: printed is how many requests a block go to
geth, and how long the client waits for all of them.
"""

import argparse
import json
import re
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import trio
from trio_websocket import WebSocketConnection, open_websocket_url

from bench.follow import ask, follower, geth_that_ticks, share
from bench.lib.genesis import written_genesis
from bench.lib.nodes import Node

READER = "0x5f545f5260205ff3"
"""Returns its slot 0."""
FIRST = 0xE000
"""The address of the first contract."""
ANSWERS = re.compile(r"^wsnode_upstream_reads_total\{.*\} (\d+)", re.MULTILINE)
"""Not those in batches."""
ROUNDS = re.compile(r"^wsnode_proof_rounds_total(?:\{.*\})? (\d+)", re.MULTILINE)
PROOFS = re.compile(r"^wsnode_proofs_total\{.*\} (\d+)", re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--geth", type=Path, required=True)
    parser.add_argument("--contracts", type=int, default=100, help="that a client watches")
    parser.add_argument("--calls", type=int, default=300, help="that are timed")
    parser.add_argument("--blocks", type=int, default=20, help="for which contracts are watched")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="light-") as folder:
        temporary = Path(folder)
        genesis = written_genesis(temporary, contracts_holding_numbers(options.contracts))
        with geth_that_ticks(options.geth, genesis, temporary) as geth:
            trio.run(measure, geth, genesis, temporary, options)


def contracts_holding_numbers(count: int) -> dict[str, Any]:
    """Return contracts of a genesis by address; each holds its number."""
    return {
        contract(number): {
            "balance": "0x0",
            "code": READER,
            "storage": {f"0x{0:064x}": f"0x{number + 1:064x}"},
        }
        for number in range(count)
    }


def contract(number: int) -> str:
    return f"0x{FIRST + number:040x}"


async def measure(geth: Node, genesis: Path, temporary: Path, options: argparse.Namespace) -> None:
    for folder in ("full", "light"):
        (temporary / folder).mkdir()
    light_options = ("--light", "--window", "128", "--agree", "1")
    began = time.perf_counter()
    with follower(temporary / "full", genesis, geth.url) as full:
        await report_start("full", full, geth, began)
        began = time.perf_counter()
        with follower(temporary / "light", genesis, geth.url, *light_options) as light:
            await report_start("light", light, geth, began)
            await compare({"light": light, "full": full, "geth": geth}, options.calls)
            await watch(light, options.contracts, options.blocks)


async def report_start(name: str, node: Node, geth: Node, began: float) -> None:
    """Print the seconds from `began` until `node` answers a call at the head that geth has now."""
    async with open_websocket_url(geth.url) as upstream, open_websocket_url(node.url) as ours:
        head = int(await ask(upstream, "eth_blockNumber"), 16)
        while int(await ask(ours, "eth_blockNumber"), 16) < head:  # noqa: ASYNC110
            await trio.sleep(0.01)
        await ask(ours, "eth_call", {"to": contract(0)}, "latest")
    print(f"{name:6} start to the first call at the head: {time.perf_counter() - began:6.2f} s", flush=True)


async def compare(nodes: dict[str, Node], calls: int) -> None:
    """Print the time of a call at one block whose values are known, on each node by turns."""
    seconds: dict[str, list[float]] = {name: [] for name in nodes}
    async with (
        open_websocket_url(nodes["light"].url) as light,
        open_websocket_url(nodes["full"].url) as full,
        open_websocket_url(nodes["geth"].url) as geth,
    ):
        connections = {"light": light, "full": full, "geth": geth}
        head = await ask(light, "eth_getBlockByNumber", "latest", False)
        block = {"blockHash": head["hash"]}
        while await ask(full, "eth_getBlockByHash", head["hash"], False) is None:  # noqa: ASYNC110
            await trio.sleep(0.01)
        for number in range(calls + 1):
            for name, connection in connections.items():
                taken = await time_call(connection, block)
                # The first one fetches what is not known yet.
                if number:
                    seconds[name].append(taken)
    for name, taken_by in seconds.items():
        report_times(f"{name:6} a call of known values", taken_by)
    ratio = median(seconds["light"]) / median(seconds["full"])
    print(f"light / full: {ratio:.2f}", flush=True)


async def time_call(connection: WebSocketConnection, block: Any) -> float:
    began = time.perf_counter()
    await ask(connection, "eth_call", {"to": contract(0)}, block)
    return time.perf_counter() - began


async def watch(light: Node, contracts: int, blocks: int) -> None:
    """Print the requests a block, and the time until all contracts are read at each new block."""
    seconds = []
    async with open_websocket_url(light.url) as heads, open_websocket_url(light.url) as caller:
        await ask(heads, "eth_subscribe", "newHeads")
        # The first block's values are all new.
        for number in range(blocks + 1):
            head = json.loads(await heads.get_message())["params"]["result"]
            began = time.perf_counter()
            await read_all(caller, contracts, {"blockHash": head["hash"]})
            if number:
                seconds.append(time.perf_counter() - began)
            else:
                before = [counted(light, what) for what in (ANSWERS, ROUNDS, PROOFS)]
    after = [counted(light, what) for what in (ANSWERS, ROUNDS, PROOFS)]
    alone, rounds, proofs = ((last - first) / blocks for first, last in zip(before, after, strict=True))
    told = f"{rounds:.1f} rounds of proofs of {proofs:.1f} values, {alone:.1f} requests outside of batches"
    print(f"light  {contracts} contracts a block: {told}", flush=True)
    report_times(f"light  all {contracts} contracts", seconds)


async def read_all(caller: WebSocketConnection, contracts: int, block: Any) -> None:
    calls = [
        {"jsonrpc": "2.0", "id": number, "method": "eth_call", "params": [{"to": contract(number)}, block]}
        for number in range(contracts)
    ]
    await caller.send_message(json.dumps(calls))
    for reply in json.loads(await caller.get_message()):
        assert int(reply["result"], 16) == reply["id"] + 1, reply


def counted(node: Node, what: re.Pattern[str]) -> int:
    """Return a number out of a follower's metrics, of all upstreams."""
    url = node.url.replace("ws://", "http://") + "metrics"
    with urllib.request.urlopen(url, timeout=30) as page:
        return sum(map(int, what.findall(page.read().decode())))


def report_times(name: str, seconds: Sequence[float]) -> None:
    ordered = sorted(1e3 * each for each in seconds)
    print(f"{name}: p50 {share(ordered, 0.5):.3f} p99 {share(ordered, 0.99):.3f} ms", flush=True)


def median(seconds: Sequence[float]) -> float:
    return share(sorted(seconds), 0.5)


if __name__ == "__main__":
    main()
