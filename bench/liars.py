"""How late is a follower's head while one of its three upstreams lies, and does it announce a false one?

    python -m bench.liars --geth PATH --liar liar.py [--blocks 12] [LIE …]

geth makes a block a second, and two of the follower's upstreams are geth itself. The third is a proxy in
front of it, which lies in one way during `--blocks` blocks; each way has a new follower. One process
subscribes to geth's heads and to the follower's: a block's lag is the time between the two. Printed for each
lie: the median and the longest lag, what became of the liar, and the number of heads that geth never had.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import trio
from trio_websocket import open_websocket_url

from bench.follow import ask, call, geth_that_ticks, listen
from bench.lib.genesis import written_genesis
from bench.lib.nodes import Node
from bench.lib.started import free_port, running

HONEST = "honest"
LIES = (
    *(HONEST, "header-field", "header-field=number", "transaction-field+no-method", "raw-byte=0.2"),
    *("receipt-field", "drop-receipt", "log-field", "empty-logs", "null-for", "stale-by", "syncing"),
    *("other-chain", "chain-id", "double-heads", "skip-heads", "rate-limit", "rate-limit=-32016"),
    *("no-method", "slow", "silence", "half-open", "garbage", "half-json", "huge"),
)
MILLISECONDS = 1e3
EMITTER = {"balance": "0x0", "code": "0x5f5fa000"}
CONTRACT = "0x" + "00" * 19 + "e0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--geth", type=Path, required=True)
    parser.add_argument("--liar", type=Path, required=True)
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument("lies", nargs="*", default=LIES, metavar="LIE", help="several at once: joined by +")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="liars-") as temporary:
        trio.run(measure, options, Path(temporary))


async def measure(options: argparse.Namespace, temporary: Path) -> None:
    genesis = written_genesis(temporary, {CONTRACT: EMITTER})
    with geth_that_ticks(options.geth, genesis, temporary) as geth:
        print(f"{'lag, ms':28}{'p50':>8}{'max':>8}  heads  false  the liar", flush=True)
        heads: dict[str, float] = {}
        async with trio.open_nursery() as nursery:
            await nursery.start(listen, geth.url, ["newHeads"], heads)
            nursery.start_soon(send_for_ever, geth)
            # Blocks before the first follower, so that a liar can be stale.
            await trio.sleep(25)
            for number, lie in enumerate(options.lies):
                folder = temporary / str(number)
                folder.mkdir()
                await try_one(lie, geth, heads, options, genesis, folder)
            nursery.cancel_scope.cancel()


async def try_one(
    lie: str, geth: Node, heads: dict[str, float], options: argparse.Namespace, genesis: Path, folder: Path
) -> None:
    ours: dict[str, float] = {}
    with lying(options.liar, geth, lie, folder) as liar, follower(folder, genesis, liar, geth) as node:
        async with trio.open_nursery() as nursery, open_websocket_url(node.url) as asker:
            await wait_live(asker)
            began = time.perf_counter()
            await nursery.start(listen, node.url, ["newHeads"], ours)
            await trio.sleep(options.blocks + 1.5)
            upstream = (await ask(asker, "wsnode_status"))["upstreams"][0]
            nursery.cancel_scope.cancel()
    expected = [each for each, at in heads.items() if at > began + 0.5][: options.blocks]
    missing = [each for each in expected if each not in ours]
    lags = sorted(MILLISECONDS * (ours[each] - heads[each]) for each in expected if each in ours)
    false = len(ours.keys() - heads.keys())
    became = upstream["state"] + (f" ({upstream['reason']})" if upstream.get("reason") else "")
    shown = f"{lags[len(lags) // 2]:8.1f}{lags[-1]:8.1f}" if lags else f"{'-':>8}{'-':>8}"
    print(f"{lie:28}{shown}  {len(lags):5}  {false:5}  {became:.90}", flush=True)
    if missing:
        print(f"  {len(missing)} heads of geth were not announced", flush=True)


async def wait_live(asker: Any) -> None:
    while (await ask(asker, "wsnode_status"))["state"] != "live":  # noqa: ASYNC110
        await trio.sleep(0.1)


async def send_for_ever(geth: Node) -> None:
    """Have each block hold a transaction with a log."""
    nonce = 0
    async with open_websocket_url(geth.url) as node:
        while True:
            await ask(node, "eth_sendRawTransaction", call(nonce))
            nonce += 1
            await trio.sleep(1)


@contextmanager
def lying(program: Path, geth: Node, lie: str, folder: Path) -> Iterator[Node]:
    """Run a proxy that lies, before geth."""
    port = free_port()
    named = [] if lie == HONEST else lie.split("+")
    with other_chain(folder) if "other-chain" in named else no_chain() as other:
        named = [f"other-chain={other}" if each == "other-chain" else each for each in named]
        command = [sys.executable, str(program), geth.url, "--listen", f"127.0.0.1:{port}"]
        command += [part for each in named for part in ("--lie", each)]
        with running("liar", command, port, folder) as node:
            yield node


@contextmanager
def no_chain() -> Iterator[str]:
    yield ""


@contextmanager
def other_chain(folder: Path) -> Iterator[str]:
    """Run a development chain of the same id, and another genesis."""
    port = free_port()
    command = [sys.executable, "-m", "wsnode", "dev", "--quiet", "--block-time", "1"]
    with running("other", [*command, "--listen", f"127.0.0.1:{port}"], port, folder) as node:
        yield node.url


@contextmanager
def follower(folder: Path, genesis: Path, liar: Node, geth: Node) -> Iterator[Node]:
    """Run a follower on a new folder whose first upstream is the liar."""
    port = free_port()
    command = [sys.executable, "-m", "wsnode", "follow", "--data", str(folder / "followed")]
    command += ["--genesis", str(genesis), "--open", "--listen", f"127.0.0.1:{port}"]
    for url in (liar.url, geth.url, f"{geth.url}?another"):
        command += ["--upstream", url]
    with running("follower", command, port, folder) as node:
        yield node


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(str(error))
