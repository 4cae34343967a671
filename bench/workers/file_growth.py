"""How much larger does a chain's file become while something reads it?

    python -m bench.workers.file_growth [--blocks 10000] [--only TEXT]

Writes a chain of ten transfers a block, and then a tenth as many blocks, while nothing reads the folder;
while another process holds one snapshot; while it holds one after another for five seconds, which is how long
a call may take; and while a client of `wsnode serve` on the folder reads ten of the new blocks a second, and
so falls behind. Readers end before the last tenth. For each: the size of the file after the
blocks, and its growth in the last tenth.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Final

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from bench.lib.started import wsnode_serving
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import demo_genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.state import sign_transaction
from wsnode.node.chains import ETHEREUM_FOLDER

TRANSACTIONS: Final = 10
CALL_SECONDS: Final = 5.0
PAUSE: Final = 0.1
"""Seconds between two notifications that the slow client reads."""

HOLDING = """
import sys, time
from pathlib import Path
from wsnode.ethereum.chain import Chain
with Chain.open(Path(sys.argv[1]), writer=False) as chain:
    while True:
        with chain.snapshot() as view:
            print(view.number, flush=True)
            time.sleep(float(sys.argv[2]))
"""


def main() -> int:
    """Measure each reader on a chain of its own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blocks", type=int, default=10_000)
    parser.add_argument("--only", default="", metavar="TEXT", help="readers whose names hold this")
    options = parser.parse_args()
    blocks = options.blocks
    cases: dict[str, Callable[[Path], AbstractContextManager[None]]] = {
        "nothing reads": unread,
        "a snapshot is held": partial(held, seconds=1e6),
        f"a snapshot is held for {CALL_SECONDS:.0f} s each": partial(held, seconds=CALL_SECONDS),
        "a slow replay": slow_replay,
    }
    for name, reading in cases.items():
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory(prefix="file-growth-") as temporary:
            began = time.monotonic()
            whole, after = grown(Path(temporary), blocks, reading)
        print(
            f"{name:34} {blocks:,} blocks {whole:8.1f} MB  {blocks // 10:,} more {after - whole:+6.1f} MB  "
            f"{time.monotonic() - began:.0f} s",
            flush=True,
        )
    return 0


def grown(
    folder: Path, blocks: int, reading: Callable[[Path], AbstractContextManager[None]]
) -> tuple[float, float]:
    """Return the size of the file in MB after the blocks, and after a tenth as many without a reader."""
    place = folder / "data" / ETHEREUM_FOLDER
    with Chain.open(place, demo_genesis(), writer=True, durable=False) as chain:
        builder = BlockBuilder(chain)
        extend(builder, chain.spec.chain_id, 1)
        with reading(folder):
            extend(builder, chain.spec.chain_id, blocks)
            whole = size(place)
        extend(builder, chain.spec.chain_id, blocks // 10)
        return whole, size(place)


def extend(builder: BlockBuilder, chain_id: int, blocks: int) -> None:
    """Add blocks of transfers to accounts that did not exist."""
    for _ in range(blocks):
        number = builder.tip.number + 1
        transactions = [
            sign_transaction(
                ACCOUNTS[0].secret,
                chain_id=chain_id,
                nonce=(number - 1) * TRANSACTIONS + place,
                to=number.to_bytes(16, "big") + place.to_bytes(4, "big"),
                value=1,
                input=b"",
                gas=21_000,
                max_fee=10**11,
                max_priority_fee=0,
            )
            for place in range(TRANSACTIONS)
        ]
        built = builder.append(transactions, timestamp=builder.tip.timestamp + 12, fee_recipient=bytes(20))
        assert not built.refused, built.refused


def size(place: Path) -> float:
    """Return the size of a chain's file in MB."""
    return (place / "chain/data.mdb").stat().st_size / 1e6


@contextmanager
def unread(_folder: Path) -> Iterator[None]:
    """Read nothing."""
    yield


@contextmanager
def held(folder: Path, *, seconds: float) -> Iterator[None]:
    """Hold snapshots in another process, each for `seconds`."""
    command = [sys.executable, "-c", HOLDING, str(folder / "data" / ETHEREUM_FOLDER), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


@contextmanager
def slow_replay(folder: Path) -> Iterator[None]:
    """Serve the folder to a client that reads each block that is added, slowly."""
    over = Event()
    with wsnode_serving(folder / "data", folder) as node:
        client = Thread(target=read_slowly, args=(node.url, over))
        client.start()
        try:
            yield
        finally:
            over.set()
            client.join()


def read_slowly(url: str, over: Event) -> None:
    """Read a subscription to blocks; come again where the node has ended it."""
    wanted = {"transactions": True, "receipts": True, "cursors": True}
    params = ["newBlocks", wanted]
    while not over.is_set():
        with suppress(OSError, WebSocketException), connect(url, max_size=None, max_queue=1) as connection:
            connection.send(
                json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": params})
            )
            while not over.wait(PAUSE):
                message = json.loads(connection.recv())
                assert "error" not in message, message
                if "params" in message:
                    params[1] = {**wanted, "cursor": message["params"]["cursor"]}


if __name__ == "__main__":
    sys.exit(main())
