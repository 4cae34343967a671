"""Measure how fast the Starknet family answers and imports.

    python -m bench.starknet replies FOLDER              server time of each method, in process
    python -m bench.starknet replies FOLDER --url URL    the same requests to a node at ws://…
    python -m bench.starknet import [--blocks 1000] [--slots 200]
    python -m bench.starknet verify FILE...              recomputation of blocks, up to their hashes

FOLDER holds `single/mainnet_550000.json.gz` and `rpc/`: real classes of up to 1.39 MB, a real block of 370
storage writes. With --url the node must hold that block as its latest. Server time is what the dispatcher
takes from the request's bytes to the reply's, without the socket. A FILE is
`{chain_id, block, state_update}`, as nodes answer getBlockWithReceipts and getStateUpdate, or null.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec
import trio
from websockets.sync.client import connect

from wsnode.demo.starknet_chain import StarknetBlockMaker
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.starknet.block import StateDiff
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.diff_json import flat_diff, nested_diff
from wsnode.starknet.felt import felt_text, number_felt
from wsnode.starknet.native import verify_starknet_block
from wsnode.starknet.rpc.methods import build_registry
from wsnode.sync.starknet_folder import import_folder

FIRST = 550_000
SECONDS = 1.5
# Replies of 1.5 MB need more than the 1 MiB that the client allows by itself.
MAX_REPLY = 64 * 1024 * 1024
SIERRA = "0x1d8805ae5c603b8e190e8af0d7b4617c51900f30b06bedfbf837def01c8f5e4"
ARGENT = "0x26f1cc856bc01f0150a393d5e0488da44dc5510b7e31f0faa03fbeccf1f1405"

Answer = Callable[[bytes], int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(required=True, dest="command")
    replies = commands.add_parser("replies")
    replies.add_argument("folder", type=Path)
    replies.add_argument("--url")
    imports = commands.add_parser("import")
    imports.add_argument("--blocks", type=int, default=1000)
    imports.add_argument("--slots", type=int, default=200)
    verify = commands.add_parser("verify")
    verify.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args()
    if options.command == "verify":
        measure_verification(options.files)
    elif options.command == "import":
        measure_import(options.blocks, options.slots)
    elif options.url:
        measure_node(options.url)
    else:
        measure_dispatcher(options.folder)


def requests() -> Iterator[tuple[str, str, dict[str, object]]]:
    latest: dict[str, object] = {"block_id": "latest"}
    yield "class, 1.39 MB", "starknet_getClassAt", latest | {"contract_address": SIERRA}
    yield "class, 557 kB", "starknet_getClassAt", latest | {"contract_address": ARGENT}
    yield "class hash", "starknet_getClassHashAt", latest | {"contract_address": SIERRA}
    yield "state update, flat", "alt_getStateUpdate", latest
    yield "state update, nested", "starknet_getStateUpdate", latest
    yield "slot", "starknet_getStorageAt", latest | {"contract_address": SIERRA, "key": "0x1"}
    yield "head", "starknet_blockHashAndNumber", {}


def measure_dispatcher(folder: Path) -> None:
    single = folder / "single" / "mainnet_550000.json.gz"
    with (
        tempfile.TemporaryDirectory(prefix="starknet-") as temporary,
        StarknetChain.open(Path(temporary), writer=True) as chain,
    ):
        trio.run(lambda: import_folder(chain, single, folder / "rpc", first_block=FIRST))
        dispatcher = Dispatcher(build_registry(), chain.snapshot)
        session = dispatcher.session(None)

        def answer(request: bytes) -> int:
            reply = dispatcher.handle(request, session)
            session.end_turn()
            assert isinstance(reply, bytes)
            return len(reply)

        report(answer)


def measure_node(url: str) -> None:
    with connect(url, max_size=MAX_REPLY, compression=None) as connection:

        def answer(request: bytes) -> int:
            connection.send(request.decode())
            return len(connection.recv())

        report(answer)


def report(answer: Answer) -> None:
    print(f"{'':22}{'bytes':>10}{'replies/s':>11}{'MB/s':>9}{'p50 us':>10}{'p99 us':>10}")
    for label, method, params in requests():
        request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        size, times = answer(request), []
        end = time.perf_counter() + SECONDS
        while (began := time.perf_counter()) < end:
            answer(request)
            times.append(time.perf_counter() - began)
        rate = len(times) / sum(times)
        slow = statistics.quantiles(times, n=100)[98]
        print(
            f"{label:22}{size:>10,}{rate:>11,.0f}{rate * size / 1e6:>9,.0f}"
            f"{statistics.median(times) * 1e6:>10,.1f}{slow * 1e6:>10,.1f}"
        )


def measure_verification(files: list[Path]) -> None:
    """Print the median times of recomputing each block, of 100: of the clock, and of all cores."""
    for file in files:
        vector = json.loads(file.read_text())
        block, update = (json.dumps(vector[name]).encode() for name in ("block", "state_update"))
        name = bytes.fromhex(vector["chain_id"].removeprefix("0x")).decode()
        times, used = [], []
        for _ in range(100):
            began, before = time.perf_counter(), time.process_time()
            proof = verify_starknet_block(block, None if update == b"null" else update, name)
            times.append(time.perf_counter() - began)
            used.append(time.process_time() - before)
        contents = f"{proof.transaction_count} transactions, {proof.event_count} events"
        clock, cores = (1e3 * statistics.median(seconds) for seconds in (times, used))
        print(f"{file.stem}: {contents}, {clock:.2f} ms, {cores:.2f} ms of all cores")


def measure_import(blocks: int, slots: int) -> None:
    with tempfile.TemporaryDirectory(prefix="starknet-") as temporary:
        dump = Path(temporary) / "blocks.jsonl"
        write_dump(dump, blocks, slots)
        megabytes = dump.stat().st_size / 1e6
        for label, verify_roots in (("roots recomputed", True), ("roots on trust", False)):
            folder = Path(temporary) / label
            with StarknetChain.open(folder, writer=True) as chain:
                began = time.perf_counter()
                trio.run(partial(import_folder, chain, dump, verify_roots=verify_roots))
                seconds = time.perf_counter() - began
            stored = sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file()) / 1e6
            rates = f"{blocks / seconds:,.0f} blocks/s, {blocks * slots / seconds:,.0f} slots/s"
            print(f"{label:18} {seconds:6.2f} s  {rates}, {stored:.0f} MB on disk from {megabytes:.0f} MB")


def write_dump(path: Path, blocks: int, slots: int) -> None:
    """Write blocks that each touch `slots` slots of 50 contracts, half of which were written before."""
    maker = StarknetBlockMaker()
    contracts = [number_felt(0x1000 + index * 7919**3) for index in range(50)]
    with path.open("wb") as stream:
        for number in range(blocks):
            written = sorted(
                (
                    contracts[index % 50],
                    number_felt(1 + 31**9 * (index + number * slots // 2)),
                    number_felt(number + 1),
                )
                for index in range(slots)
            )
            deployed = (
                [(contract, number_felt(0xC1A55)) for contract in sorted(contracts)] if number == 0 else []
            )
            block = maker.make(StateDiff(storage=written, deployed=deployed))
            update = {
                "block_hash": felt_text(block.hash),
                "block_number": number,
                "parent_hash": felt_text(block.header.parent_hash or b""),
                "starknet_version": block.header.version,
                "state_diff_commitment": felt_text(block.header.commitment or b""),
                "old_root": felt_text(block.old_root),
                "new_root": felt_text(block.new_root),
                "state_diff": nested_diff(flat_diff(block.diff)),
            }
            stream.write(msgspec.json.encode(update) + b"\n")


if __name__ == "__main__":
    main()
