"""Compute the disk and memory that a light folder of Base, or of Arbitrum, takes a day.

    python -m bench.upstreams.window_size [--blocks 600] [--base MILLIONS] [--arbitrum MILLIONS]

Blocks of op-geth's chain in the vectors, and a captured block of Arbitrum One, are stored again and again in
a light folder, each as the child of the one before, a block a commit. Counted are the bytes that the second
half of them takes: of a block that has nothing but its first transaction, and of each further transaction.
Printed are these times the transactions of a day, which are given in millions, with all terms. The repeated
blocks share their rows in the look-ups, so the bytes of such a row are added for each transaction.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

import msgspec

from bench.lib.nodes import anonymous_bytes
from tests.families.restated_blocks import OP_GETH, read_vector, restated
from tests.vector_files import require_vectors
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import (
    BuiltBlock,
    decode_blocks,
    encode_json_block,
    encode_json_receipts,
    verify_with_receipts,
)
from wsnode.ethereum.networks.table import find_network
from wsnode.ethereum.state import ChainSpec
from wsnode.ethereum.storage.folder_kind import FolderKind

LOOKUP_BYTES: Final = 43
"""Of a transaction in the look-ups: 4.3 MB of 100,000 (bench/results/import.json)."""
DAY: Final = 86_400
MEBIBYTE: Final = 1 << 20
DEPOSITS_ALONE: Final = (6, 12, 18, 24, 30, 36, 42)
"""Blocks of op-geth's chain whose only transaction is the first one."""
BUSY: Final = (3, 5, 9, 15, 17, 21, 27, 33, 35, 38, 39, 41, 45, 48, 51, 53, 54)
Told = tuple[dict[str, Any], list[Any]]
"""A block and its receipts, as nodes tell them."""


class Stored(msgspec.Struct, frozen=True):
    """What blocks took of a folder."""

    bytes_a_block: float
    transactions_a_block: float
    memory: int
    """Bytes of the process that came with them."""


def main() -> None:
    """Measure, and print the arithmetic of a day."""
    options = read_options(sys.argv[1:])
    base = find_network("base")
    genesis = (require_vectors(OP_GETH) / "genesis.json").read_bytes()
    empty = stored(genesis, op_geth(DEPOSITS_ALONE), options.blocks)
    busy = stored(genesis, op_geth(BUSY), options.blocks)
    each = (busy.bytes_a_block - empty.bytes_a_block) / (busy.transactions_a_block - 1) + LOOKUP_BYTES
    block = empty.bytes_a_block + LOOKUP_BYTES
    report("base", base.seconds, block, each, options.base, busy.memory)

    told = captured("chains/arbitrum/150000000")
    arbitrum = stored(find_network("arbitrum").genesis, [told], options.blocks)
    each = arbitrum.bytes_a_block / arbitrum.transactions_a_block + LOOKUP_BYTES
    # Of a block with its first transaction alone nothing is captured: it is taken for one of them.
    report("arbitrum", find_network("arbitrum").seconds, each, each, options.arbitrum, arbitrum.memory)


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options; the transactions of a day are those that growthepie.com had for 2026-05-27."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--blocks", type=int, default=600)
    parser.add_argument("--base", type=float, default=9.85, metavar="MILLIONS")
    parser.add_argument("--arbitrum", type=float, default=1.30, metavar="MILLIONS")
    return parser.parse_args(arguments)


def report(name: str, seconds: float, block: float, each: float, millions: float, memory: int) -> None:
    """Print what a day of a chain takes, with all terms."""
    blocks = round(DAY / seconds)
    total = blocks * block + millions * 1e6 * each
    print(
        f"{name}: {blocks} blocks x {block:.0f} bytes + {millions:g} million transactions x {each:.0f} bytes"
        f" = {total / 1e9:.1f} GB a day, {total / 12e9:.2f} GB in two hours; "
        f"memory grew by {memory / MEBIBYTE:.1f} MiB"
    )


def op_geth(numbers: Sequence[int]) -> list[Told]:
    return [captured(f"{OP_GETH}/{number}") for number in numbers]


def captured(place: str) -> Told:
    folder = require_vectors(place)
    return json.loads(read_vector(folder / "block.json")), json.loads(read_vector(folder / "receipts.json"))


def stored(genesis: bytes, told: Sequence[Told], count: int) -> Stored:
    """Return what a light folder took for the second half of so many blocks."""
    with tempfile.TemporaryDirectory(prefix="window-") as place:
        folder = Path(place) / "light"
        kind = FolderKind(count, is_light=True)
        with Chain.open(folder, genesis, writer=True, durable=False, kind=kind) as chain:
            blocks = in_a_row(chain.spec, told, count)
            chain.begin_at(next(blocks), 1 << 128)
            for block in islice(blocks, count // 2 - 1):
                chain.append([block])
            before, memory, transactions = disk_bytes(folder), anonymous_bytes(os.getpid()), 0
            for block in blocks:
                chain.append([block])
                transactions += block.transaction_count
            half = count - count // 2
            grown = disk_bytes(folder) - before
            return Stored(grown / half, transactions / half, anonymous_bytes(os.getpid()) - memory)


def in_a_row(spec: ChainSpec, told: Sequence[Told], count: int) -> Iterator[BuiltBlock]:
    """Yield blocks, each of which is told to be the child of the one before."""
    parent = {"parentHash": "0x" + "11" * 32}
    for number, (block, receipts) in enumerate(islice(cycle(told), count), 1_000):
        placed = restated(block, number=hex(number), **parent)
        (unverified,), error = decode_blocks(spec, [encode_json_block(msgspec.json.encode(placed), [])])
        assert error is None, str(error)
        row = encode_json_receipts(msgspec.json.encode(receipts))
        found = verify_with_receipts(spec, unverified, row)
        assert isinstance(found, BuiltBlock), str(found)
        parent = {"parentHash": placed["hash"]}
        yield found


def disk_bytes(folder: Path) -> int:
    """Return what the files of a folder take of the disk."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


if __name__ == "__main__":
    main()
