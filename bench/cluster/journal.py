"""What does a journal cost its writer, and how late is a reader?

    python -m bench.cluster.journal [--records 300]

Starts a Redis on a socket (with `appendonly`, synced each second), appends records of random bytes, which do
not compress, and reads them in another task. For each size: how long an append takes, how long after its
begin the reader has the record, and what Redis holds for a record.
"""

import argparse
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple

import coredis
import trio

from wsnode.cluster.address import JournalAddress
from wsnode.cluster.journal import JournalLimits, Lease
from wsnode.cluster.records import BlockRecord, ChainState, Record, RecordId
from wsnode.cluster.redis_journal import RedisJournal, open_journal
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32

GENESIS = Hash32(b"g" * 32)
SIZES = (1_000, 100_000, 1_000_000, 8 << 20)
MAX_BYTES = 1 << 29
MIN_RECORDS = 20
PAUSE_SECONDS = 0.005
"""Blocks do not come one right after the other."""
STARTING_SECONDS = 10


class Measured(NamedTuple):
    """Milliseconds of appends, of the ways to the reader, and bytes in memory for a record."""

    appends: list[float]
    ways: list[float]
    memory: float


@contextmanager
def redis(folder: Path) -> Iterator[Path]:
    """Run a Redis until the end, and yield its socket."""
    found = shutil.which("redis-server")
    if found is None:
        raise SystemExit("there is no redis-server on the path")
    path = folder / "redis"
    options = ("--port", "0", "--unixsocket", str(path), "--dir", str(folder), "--save", "")
    server = subprocess.Popen((found, *options, "--appendonly", "yes"), stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + STARTING_SECONDS
        while not path.exists() and time.monotonic() < until:
            time.sleep(0.01)
        yield path
    finally:
        server.kill()
        server.wait()


def record(lease: Lease, number: int, content: bytes) -> Record:
    """Return the record of a block with some content."""
    before, after = (
        ChainState(Head(BlockNumber(each), Hash32(each.to_bytes(32, "big"))), GENESIS, 1)
        for each in (number - 1, number)
    )
    previous = RecordId(lease.epoch, number - 1) if number > 1 else None
    return Record(GENESIS, RecordId(lease.epoch, number), previous, before, after, BlockRecord(content))


async def measure(address: JournalAddress, size: int, records: int) -> Measured:
    """Append records of a size to an empty journal, with a reader beside."""
    begun: dict[int, float] = {}
    appends: list[float] = []
    ways: list[float] = []

    async def read(journal: RedisJournal) -> None:
        last: RecordId | None = None
        while len(ways) < records:
            for each in await journal.read(last, 10):
                last = each.id
                ways.append(1000 * (time.perf_counter() - begun[each.id.sequence]))

    bounds = JournalLimits(bytes=1 << 40)
    async with (
        coredis.Redis(unix_socket_path=address.path) as server,
        open_journal(address, GENESIS, bounds) as journal,
        open_journal(address, GENESIS) as other,
        trio.open_nursery() as nursery,
    ):
        await server.flushall()
        before = await memory_of(server)
        lease = await journal.claim("bench")
        nursery.start_soon(read, other)
        for number in range(1, records + 1):
            made = record(lease, number, random.randbytes(size))
            await journal.renew(lease)
            begun[number] = start = time.perf_counter()
            await journal.append(lease, made)
            appends.append(1000 * (time.perf_counter() - start))
            await trio.sleep(PAUSE_SECONDS)
        memory = (await memory_of(server) - before) / records
    return Measured(appends, ways, memory)


async def memory_of(server: "coredis.Redis[bytes]") -> int:
    """Return the bytes that a server has in memory."""
    found: Any = await server.info("memory")
    return int(found["used_memory"])


def main() -> None:
    """Measure each size, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--records", type=int, default=300)
    options = parser.parse_args()
    print("| bytes of a block | an append, p50 | p99 | to the reader, p50 | p99 | bytes in Redis |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, redis(Path(folder)) as path:
        address = JournalAddress.parse(f"unix://{path}")
        for size in SIZES:
            records = max(MIN_RECORDS, min(options.records, MAX_BYTES // size))
            print(row(size, trio.run(measure, address, size, records)), flush=True)


def row(size: int, measured: Measured) -> str:
    """Return the row of a size."""
    cells = [f"{size:,}"]
    for times in (measured.appends, measured.ways):
        at = quantiles(times, n=100, method="inclusive")
        cells += [f"{at[49]:.1f} ms", f"{at[98]:.1f} ms"]
    return f"| {' | '.join([*cells, f'{measured.memory:,.0f}'])} |"


if __name__ == "__main__":
    main()
