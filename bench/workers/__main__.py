"""What do several processes cost and bring, and what happens when one of them is killed?

    python -m bench.workers [placement] [throughput] [notices] [kills] [rate] [capacity]
                            --folder FOLDER [--peers PROGRAM …]

Starts nodes of its own on the chain of a FOLDER (genesis.json, chain.rlp or chain.rlp.gz), and for `notices`
and `kills` beside a development chain.

placement   200 connections, one after another, on 4 workers, before and after one of them is killed and its
            clients have reconnected: the largest share divided by the mean
throughput  replies a second and CPU for one, of one process on a core and on two, of 2 workers, and of
            PROGRAMs (geth, anvil), by turns; each client has a core of its own too
notices     milliseconds from a subscriber of the process that makes blocks to one of a worker of another node
kills       30 clients with cursors, while workers are killed at random: what each has received is compared
rate        calls of a key of 100 a second that 4 workers admit in a minute
capacity    what calls, connections, blocks and notifications cost here, and what larger machines would do by
            that: a model, whose assumptions are printed
"""

import argparse
import sys
import tempfile
from pathlib import Path

from bench.lib.nodes import allow_many_files
from bench.lib.started import chain_file, finish
from bench.workers.capacity import lines, measured
from bench.workers.kills import kills
from bench.workers.placement import placement
from bench.workers.rate import rate
from bench.workers.speed import notices
from bench.workers.throughput import compare

QUESTIONS = ("placement", "throughput", "notices", "kills", "rate", "capacity")


def main() -> int:
    """Ask what was named, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("questions", nargs="*", choices=QUESTIONS, default=QUESTIONS)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each run of throughput")
    parser.add_argument("--repeats", type=int, default=5, help="of each of them, by turns")
    parser.add_argument(
        "--peers", type=Path, nargs="+", default=[], help="programs that throughput has beside it"
    )
    parser.add_argument("--kills", type=int, default=100)
    options = parser.parse_args()
    allow_many_files()
    with tempfile.TemporaryDirectory(prefix="bench-") as temporary:
        folder, data = Path(temporary), Path(temporary) / "data"
        command = [sys.executable, "-m", "wsnode", "import", "eth", "--data", str(data)]
        genesis = str(options.folder / "genesis.json")
        finish([*command, "--genesis", genesis, str(chain_file(options.folder))], folder)
        if "placement" in options.questions:
            print(placement(data), flush=True)
        if "throughput" in options.questions:
            compare(data, options.folder, folder, options.peers, options.seconds, options.repeats)
        if "notices" in options.questions:
            delays = notices(folder)
            shown = {part: delays[int(len(delays) * part / 100)] for part in (50, 90, 99)}
            print(
                "notices, ms by percent:",
                {part: round(delay, 2) for part, delay in shown.items()},
                flush=True,
            )
        if "kills" in options.questions:
            print(kills(folder, options.kills), flush=True)
        if "rate" in options.questions:
            print(rate(data), flush=True)
        if "capacity" in options.questions:
            print(*lines(measured(folder, data, options.seconds)), sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
