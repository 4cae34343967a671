"""Measure what each lie of a Starknet upstream costs a light folder, beside an honest node and alone.

    python -m bench.upstreams.starknet_lies [--transport http] [--lies NAME…]

Two reference nodes have the same chain. One lies from a block on, and announces each block first; a light
folder follows both, and another one the first alone. Printed for each lie: seconds from the new blocks until
the folder beside the honest node is at the head; seconds from the end of the lie until the other one is; and
the notifications of either's subscriber that were of no block of the chain.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.starknet.reference.world import LIES, world

BLOCKS = 20
WINDOW = 16


def main() -> None:
    """Measure, and print a table."""
    options = read_options(sys.argv[1:])
    print("| lie | beside an honest one, s | alone, after its end, s | false |")
    print("|---|---|---|---|")
    for name in options.lies:
        print(row(name, options.transport), flush=True)


def read_options(arguments: list[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--transport", choices=["ws", "http"], default="ws")
    parser.add_argument("--lies", nargs="+", choices=LIES, default=LIES)
    return parser.parse_args(arguments)


def row(name: str, transport: str) -> str:
    """Return the row of a lie."""
    seconds, false = [], 0
    for upstreams in (2, 1):
        with (
            tempfile.TemporaryDirectory(prefix="lies-") as folder,
            world(Path(folder), blocks=BLOCKS, window=WINDOW, transport=transport, upstreams=upstreams) as (
                running,
                watcher,
            ),
        ):
            running.liar.command("lie", name=name)
            began = time.perf_counter()
            running.grow(2)
            if upstreams == 1:
                running.wait_until_noticed(name)
                began = time.perf_counter()
                running.be_honest()
            running.wait_for_head()
            seconds.append(time.perf_counter() - began)
            running.check(watcher)
            false += watcher.count_false(running.made)
    beside, alone = seconds
    return f"| {name} | {beside:.1f} | {alone:.1f} | {false} |"


if __name__ == "__main__":
    main()
