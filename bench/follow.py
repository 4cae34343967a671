"""How soon a follower of geth tells of a block's logs, and how fast it catches up from genesis.

    python -m bench.follow --geth PATH [--blocks 100] [--chain FOLDER]

geth makes a block a second with a transaction whose log both nodes tell. One process subscribes to geth and
to the follower; times count from geth's announcement of the block to its own subscriber (`newHeads`).
With --chain, geth imports the chain of FOLDER (genesis.json, chain.rlp, meta.json) and serves it, and
wsnode follows it from genesis; geth's import is timed too.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import trio
from trio_websocket import WebSocketConnection, open_websocket_url

from bench.lib.nodes import Node
from bench.lib.started import chain_file, free_port, geth_with, running, unpack
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import development_genesis
from wsnode.ethereum.state import sign_transaction

# A call makes one log without topics.
EMITTER = "0x5f5fa000"
CONTRACT = bytes(19) + b"\xe0"
CALL_GAS = 60_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--geth", type=Path, required=True)
    parser.add_argument("--blocks", type=int, default=100)
    parser.add_argument("--chain", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="follow-") as temporary:
        if options.chain is not None:
            catch_up(options.geth, options.chain, Path(temporary))
        else:
            trio.run(measure, options.geth, Path(temporary), options.blocks)


def catch_up(geth: Path, folder: Path, temporary: Path) -> None:
    """Print how long geth's import takes, and the way to its head by following."""
    meta = json.loads((folder / "meta.json").read_text())
    imported = time_import(geth, folder, temporary / "timed", meta["chainId"])
    report_rate("geth import", imported, meta)
    with geth_with(geth, folder, temporary) as node:
        began = time.perf_counter()
        with follower(temporary, folder / "genesis.json", node.url) as ours:
            trio.run(wait_for_head, ours.url, meta["headNumber"])
            report_rate("wsnode follow", time.perf_counter() - began, meta)


def time_import(geth: Path, folder: Path, temporary: Path, chain_id: int) -> float:
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
    began = time.perf_counter()
    subprocess.run([*flags, "import", "--nocompaction", str(plain)], check=True, capture_output=True)
    return time.perf_counter() - began


def report_rate(name: str, seconds: float, meta: dict[str, Any]) -> None:
    print(f"{name:14} {seconds:7.2f} s  {meta['headNumber'] / seconds:9.0f} blocks/s", flush=True)


async def wait_for_head(url: str, number: int) -> None:
    async with open_websocket_url(url) as node:
        while int(await ask(node, "eth_blockNumber"), 16) < number:  # noqa: ASYNC110
            await trio.sleep(0.02)


@contextmanager
def follower(temporary: Path, genesis: Path, upstream: str) -> Iterator[Node]:
    """Run a follower of one upstream on a new folder."""
    port = free_port()
    command = [sys.executable, "-m", "wsnode", "follow", "--data", str(temporary / "followed")]
    command += ["--genesis", str(genesis), "--upstream", upstream, "--open", "--listen", f"127.0.0.1:{port}"]
    with running("follower", command, port, temporary) as node:
        yield node


@contextmanager
def geth_that_ticks(geth: Path, genesis: Path, temporary: Path) -> Iterator[Node]:
    """Run geth with a block a second on a genesis."""
    port, data = free_port(), temporary / "geth"
    subprocess.run([str(geth), "init", "--datadir", str(data), str(genesis)], check=True, capture_output=True)
    command = [
        str(geth),
        "--dev",
        "--dev.period",
        "1",
        "--datadir",
        str(data),
        "--nodiscover",
        "--ipcdisable",
    ]
    command += ["--port", "0", "--authrpc.port", "0", "--ws", "--ws.port", str(port), "--ws.origins", "*"]
    with running("geth", [*command, "--ws.api", "eth,debug,net,web3"], port, temporary) as node:
        yield node


async def measure(geth: Path, temporary: Path, blocks: int) -> None:
    genesis = temporary / "genesis.json"
    content = json.loads(development_genesis([ACCOUNTS[0].address], 10**24, int(time.time()) - 10))
    content["alloc"][f"0x{CONTRACT.hex()}"] = {"balance": "0x0", "code": EMITTER}
    genesis.write_text(json.dumps(content))
    with (
        geth_that_ticks(geth, genesis, temporary) as upstream,
        follower(temporary, genesis, upstream.url) as ours,
    ):
        await compare(upstream, ours, blocks)


async def compare(upstream: Node, ours: Node, blocks: int) -> None:
    times: dict[str, dict[str, float]] = {name: {} for name in ("head", "geth", "wsnode")}
    contract = {"address": f"0x{CONTRACT.hex()}"}
    async with trio.open_nursery() as nursery:
        await nursery.start(listen, upstream.url, ["newHeads"], times["head"])
        await nursery.start(listen, upstream.url, ["logs", contract], times["geth"])
        await nursery.start(listen, ours.url, ["logs", contract], times["wsnode"])
        async with open_websocket_url(upstream.url) as node:
            for nonce in range(blocks):
                seen = len(times["wsnode"])
                await ask(node, "eth_sendRawTransaction", call(nonce))
                while len(times["wsnode"]) == seen:  # noqa: ASYNC110
                    await trio.sleep(0.005)
        nursery.cancel_scope.cancel()
    print(f"{'from the head of geth, ms':28}{'p50':>8}{'p99':>8}")
    for name in ("geth", "wsnode"):
        delays = sorted(1e3 * (at - times["head"][block]) for block, at in times[name].items())
        print(f"{name + ', its log':28}{share(delays, 0.5):8.2f}{share(delays, 0.99):8.2f}")
    behind = sorted(1e3 * (at - times["geth"][block]) for block, at in times["wsnode"].items())
    print(f"{'wsnode behind geth':28}{share(behind, 0.5):8.2f}{share(behind, 0.99):8.2f}")


async def listen(
    url: str,
    params: Sequence[Any],
    times: dict[str, float],
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Note when each block is first told of."""
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


def call(nonce: int) -> str:
    signed = sign_transaction(
        ACCOUNTS[0].secret,
        chain_id=31337,
        nonce=nonce,
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
