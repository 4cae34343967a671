"""What does a copy take, by how far the target is behind the source in its page?

    python -m bench.lib.limits.copies [--bytes 8208]

What the call itself takes is not counted. For a process as the machine has it, and for one that copies as a
node does (docs/decisions/0063); on other processors than AMD's both are the same.
"""

import argparse
import ctypes
import mmap
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Final

from wsnode.node.memory.copying import VARIABLE, with_copying

PAGE: Final = mmap.PAGESIZE
SOURCE: Final = 16
"""Of a value in a page of the store, which LMDB's head of the page precedes."""
DISTANCES: Final = (0, 1, 16, 31, 32, 48, 1024)
ROUNDS: Final = 5
COPIES: Final = 2000


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the microseconds of a copy at each distance, for both processes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bytes", type=int, default=8208, help="of a copy")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        print(*(seconds_of(options.bytes, distance) for distance in DISTANCES))
        return 0
    as_is, as_node = times(options.bytes, os.environ), times(options.bytes, environment_of_node())
    print(f"{options.bytes} bytes, microseconds   as it is   as a node   ratio")
    for distance, one, other in zip(DISTANCES, as_is, as_node, strict=True):
        print(f"{distance:6} bytes behind {one * 1e6:20.2f} {other * 1e6:11.2f} {one / other:7.2f}")
    return 0


def environment_of_node() -> dict[str, str]:
    """Return this process's environment with what a node's has for copies."""
    return {**os.environ, VARIABLE: with_copying(os.environ.get(VARIABLE, ""))}


def times(size: int, environment: Mapping[str, str]) -> list[float]:
    """Return the seconds of a copy at each distance, in a process with this environment."""
    command = [sys.executable, "-m", "bench.lib.limits.copies", "--bytes", str(size), "--child"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return [float(word) for word in ran.stdout.split()]


def seconds_of(size: int, distance: int) -> float:
    """Return the seconds of a copy of `size` bytes to a place in its page `distance` behind the source's."""
    room = (size // PAGE + 2) * PAGE
    source, target = mmap.mmap(-1, room), mmap.mmap(-1, room)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(source)) + SOURCE
    end = ctypes.addressof(ctypes.c_char.from_buffer(target)) + SOURCE + distance
    call, copy = (min(round_of(begin, end, each) for _ in range(ROUNDS)) for each in (0, size))
    return (copy - call) / COPIES


def round_of(source: int, target: int, size: int) -> float:
    """Return the seconds of many copies."""
    began = time.perf_counter()
    for _ in range(COPIES):
        ctypes.memmove(target, source, size)
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
