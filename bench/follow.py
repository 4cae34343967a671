"""How soon a follower of geth notifies of a block's logs, and how fast it catches up from genesis.

    python -m bench.follow --geth PATH [--blocks 100] [--transactions 100] [--hardfork NAME] [--chain FOLDER]
        [--against PYTHON]

geth makes a block a second with transactions whose logs both nodes tell. One process subscribes to geth and
to the follower; times count from geth's announcement of the block to its own subscriber (`newHeads`) to the
first log of the block. A block is stored by two syncs in a row: what one costs
on the disk is printed too. --hardfork is the fork whose rules hold from the genesis block on.
With --chain, geth imports the chain of FOLDER (genesis.json, chain.rlp, meta.json) and serves it, and
wsnode follows it from genesis; geth's import is timed too. On a machine where others compute, compare the
seconds of the processors. With --against, the interpreter of another version's environment, a follower of
that version follows the same geth at the same time: its rows are those of `other`.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import trio
from trio_websocket import WebSocketConnection, open_websocket_url

from bench.lib.disk import sync_milliseconds
from bench.lib.genesis import written_genesis
from bench.lib.nodes import Node
from bench.lib.started import chain_file, free_port, geth_on, geth_with, running, unpack
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import DEFAULT_FORK
from wsnode.ethereum.state import sign_transaction

# A call makes one log without topics.
EMITTER = "0x5f5fa000"
CONTRACT = bytes(19) + b"\xe0"
CONTRACTS = {f"0x{CONTRACT.hex()}": {"balance": "0x0", "code": EMITTER}}
CALL_GAS = 60_000
SHARES = (10, 50, 90, 99)
"""Percentiles."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--geth", type=Path, required=True)
    parser.add_argument("--blocks", type=int, default=100)
    parser.add_argument("--transactions", type=int, default=100, help="of a block")
    parser.add_argument("--hardfork", default=DEFAULT_FORK)
    parser.add_argument("--chain", type=Path)
    parser.add_argument("--against", type=Path, metavar="PYTHON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="follow-") as temporary:
        if options.chain is not None:
            catch_up(options.geth, options.chain, Path(temporary))
        else:
            genesis = written_genesis(Path(temporary), CONTRACTS, fork=options.hardfork)
            amount = options.blocks, options.transactions
            trio.run(measure, options.geth, genesis, Path(temporary), *amount, options.against)


def catch_up(geth: Path, folder: Path, temporary: Path) -> None:
    """Print how long geth's import takes, and the way to its head by following."""
    meta = json.loads((folder / "meta.json").read_text())
    print(f"{'':14} {'wall':>9} {'processor':>11} {'rate':>18}", flush=True)
    report_rate("geth import", *time_import(geth, folder, temporary / "timed", meta["chainId"]), meta)
    with geth_with(geth, folder, temporary) as node:
        began, served = time.perf_counter(), processor_seconds(node)
        with follower(temporary, folder / "genesis.json", node.url) as ours:
            trio.run(wait_for_head, ours.url, meta["headNumber"])
            seconds = time.perf_counter() - began
            report_rate("wsnode follow", seconds, processor_seconds(ours), meta)
            print(f"geth meanwhile {'':9} {processor_seconds(node) - served:9.2f} s", flush=True)


def processor_seconds(node: Node) -> float:
    """Return what a node has computed so far."""
    assert node.process is not None, "the node runs here"
    fields = Path(f"/proc/{node.process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def time_import(geth: Path, folder: Path, temporary: Path, chain_id: int) -> tuple[float, float]:
    """Return the seconds of an import, and those that its processors computed."""
    temporary.mkdir()
    plain = temporary / "chain.rlp"
    unpack(chain_file(folder), plain)
    flags = [
        str(geth),
        "--datadir",
        str(temporary / "data"),
        "--syncmode",
        "full",
        "--networkid",
        str(chain_id),
    ]
    flags += ["--gcmode", "archive", "--state.scheme", "path", "--datadir.minfreedisk", "0"]
    subprocess.run([*flags, "init", str(folder / "genesis.json")], check=True, capture_output=True)
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*flags, "import", "--nocompaction", str(plain)], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    computed = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return time.perf_counter() - began, computed


def report_rate(name: str, seconds: float, computed: float, meta: dict[str, Any]) -> None:
    rate = meta["headNumber"] / seconds
    print(f"{name:14} {seconds:7.2f} s {computed:9.2f} s {rate:9.0f} blocks/s", flush=True)


async def wait_for_head(url: str, number: int) -> None:
    async with open_websocket_url(url) as node:
        while int(await ask(node, "eth_blockNumber"), 16) < number:  # noqa: ASYNC110
            await trio.sleep(0.02)


@contextmanager
def follower(
    temporary: Path, genesis: Path, upstream: str, *options: str, python: Path | None = None
) -> Iterator[Node]:
    """Run a follower of one upstream on a new folder in `temporary`; of another version with its `python`."""
    port = free_port()
    # Without the working directory on the path, which has this version.
    other = [] if python is None else [str(python), "-P"]
    command = [*(other or [sys.executable]), "-m", "wsnode", "follow", "--data", str(temporary / "followed")]
    command += ["--genesis", str(genesis), "--upstream", upstream, "--open", "--listen", f"127.0.0.1:{port}"]
    command += options
    with running("follower", command, port, temporary) as node:
        yield node


def geth_that_ticks(geth: Path, genesis: Path, temporary: Path) -> AbstractContextManager[Node]:
    """Run geth with a block a second on a genesis."""
    return geth_on(geth, genesis, temporary, "--dev.period", "1")


async def measure(
    geth: Path, genesis: Path, temporary: Path, blocks: int, transactions: int, against: Path | None
) -> None:
    with ExitStack() as opened:
        upstream = opened.enter_context(geth_that_ticks(geth, genesis, temporary))
        followers = {"wsnode": opened.enter_context(follower(temporary, genesis, upstream.url))}
        if against is not None:
            (folder := temporary / "other").mkdir()
            other = follower(folder, genesis, upstream.url, python=against)
            followers["other"] = opened.enter_context(other)
        began = {name: processor_seconds(node) for name, node in followers.items()}
        await compare(upstream, followers, blocks, transactions)
        spent = {name: processor_seconds(node) - began[name] for name, node in followers.items()}
    for name, seconds in spent.items():
        print(f"{f'{name}, processor ms a block':28}{'':8}{1e3 * seconds / blocks:8.2f}")
    if against is not None:
        print(f"{'wsnode to other, processor':28}{'':8}{spent['wsnode'] / spent['other']:8.3f}")
    print(f"{'a page synced, ms':28}{'':8}{sync_milliseconds(temporary):8.2f}")


async def compare(upstream: Node, followers: Mapping[str, Node], blocks: int, transactions: int) -> None:
    times: dict[str, dict[str, float]] = {name: {} for name in ("head", "geth", *followers)}
    contract = {"address": f"0x{CONTRACT.hex()}"}
    async with trio.open_nursery() as nursery:
        await nursery.start(listen, upstream.url, ["newHeads"], times["head"])
        await nursery.start(listen, upstream.url, ["logs", contract], times["geth"])
        for name, each in followers.items():
            await nursery.start(listen, each.url, ["logs", contract], times[name])
        async with open_websocket_url(upstream.url) as node:
            for number in range(blocks):
                seen = {name: len(times[name]) for name in followers}
                for place in range(number * transactions, (number + 1) * transactions):
                    await ask(node, "eth_sendRawTransaction", call(place))
                while any(len(times[name]) == count for name, count in seen.items()):  # noqa: ASYNC110
                    await trio.sleep(0.005)
        nursery.cancel_scope.cancel()
    print(f"{'from the head of geth, ms':28}" + "".join(f"{f'p{part}':>8}" for part in SHARES))
    for name in ("geth", *followers):
        report_delays(f"{name}, its log", times["head"], times[name])
    for name in followers:
        report_delays(f"{name} behind geth", times["geth"], times[name])


def report_delays(name: str, first: dict[str, float], then: dict[str, float]) -> None:
    delays = sorted(1e3 * (at - first[block]) for block, at in then.items())
    print(f"{name:28}" + "".join(f"{share(delays, part / 100):8.2f}" for part in SHARES))


async def listen(
    url: str,
    params: Sequence[Any],
    times: dict[str, float],
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Note when the first notification of each block arrives."""
    async with open_websocket_url(url) as node:
        await ask(node, "eth_subscribe", *params)
        task_status.started()
        while True:
            told = json.loads(await node.get_message())["params"]["result"]
            times.setdefault(told.get("blockHash", told.get("hash")), time.perf_counter())


async def ask(node: WebSocketConnection, method: str, *params: Any) -> Any:
    await node.send_message(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    reply = json.loads(await node.get_message())
    assert "result" in reply, reply
    return reply["result"]


def call(place: int) -> str:
    """Return a signed call, one of ever more that the accounts send by turns."""
    signed = sign_transaction(
        ACCOUNTS[place % len(ACCOUNTS)].secret,
        chain_id=31337,
        nonce=place // len(ACCOUNTS),
        to=CONTRACT,
        value=0,
        input=b"",
        gas=CALL_GAS,
        max_fee=10**11,
        max_priority_fee=10**9,
    )
    return f"0x{signed.hex()}"


def share(ordered: Sequence[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


if __name__ == "__main__":
    main()
