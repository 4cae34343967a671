"""Import a chain into an empty folder and print how fast, and how fast `wsnode doctor` checks the folder.

With `--geth`, geth's import beside it. With `--limit`, what secp256k1 recovery of all senders and revm alone
take, and what revm alone takes for calls that `bench.table` asks for; cargo builds that first.

    python -m bench.import_chain FOLDER [--geth PATH] [--repeats 3] [--limit]

FOLDER holds genesis.json, chain.rlp or chain.rlp.gz, and meta.json with `headNumber`, `headHash` and
`counts`. Each import runs in its own process; CPU seconds and memory are that process's.
The last line on wsnode is the folder's size once it is copied without free pages (`wsnode snapshot`, `wsnode
restore`), and that of the compressed snapshot.
`others` is how many cores other programs used meanwhile: read it before believing `wall`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.lib.limits.engine import engine_limit
from bench.lib.started import chain_file, unpack
from wsnode.load.machine import machine_time

Figures = dict[str, Any]

BLOCK = 512
"""The bytes of what `st_blocks` counts (stat(2))."""

IMPORT = """
import sys
from pathlib import Path
import trio
from wsnode.ethereum.chain import Chain
from wsnode.sync.importer import import_files
from wsnode.sync.progress import NullProgress
folder, genesis, *files = sys.argv[1:]
with Chain.open(Path(folder), Path(genesis).read_bytes(), writer=True, durable=False) as chain:
    print("head", trio.run(import_files, chain, files, NullProgress()))
chain.folder.release_free_pages()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--geth", type=Path)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--limit", action="store_true")
    options = parser.parse_args()
    compare(options.folder, options.geth, options.repeats)
    if options.limit and (limit := engine_limit(options.folder)) is not None:
        least = limit.recovery + limit.execution
        print(
            f"limit   cpu {least:.2f}: recovery {limit.recovery:.2f} s, revm {limit.execution:.2f} s; "
            f"a call of balanceOf {limit.call:.2f} us, a transfer {limit.transfer:.2f} us"
        )


def compare(folder: Path, geth: Path | None, repeats: int) -> None:
    """Import with wsnode and, if its path is given, with geth; print figures and ratios."""
    meta = json.loads((folder / "meta.json").read_text())
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(prefix="import-") as temporary:
            own = import_with_wsnode(folder, Path(temporary), meta)
            report("wsnode", own)
            report("doctor", check_with_doctor(Path(temporary), meta))
            print(sizes_text(Path(temporary)), flush=True)
            if geth is None:
                continue
            other = import_with_geth(geth, folder, Path(temporary), meta)
            report("geth", other)
            ratios = "  ".join(f"{key} {own[key] / other[key]:.2f}" for key in ("wall", "cpu", "size_mb"))
            print(f"ratio   {ratios}", flush=True)


def import_with_wsnode(folder: Path, temporary: Path, meta: Figures) -> Figures:
    data = temporary / "wsnode" / "eth"
    command = [sys.executable, "-c", IMPORT, str(data), str(folder / "genesis.json"), str(chain_file(folder))]
    figures, output = timed(command, temporary)
    expected = f"head {meta['headNumber']} {meta['headHash']}"
    assert output.strip().endswith(expected), f"expected `{expected}`, got:\n{output}"
    figures["parts_mb"] = {part.name: megabytes(part) for part in sorted(data.iterdir()) if part.is_dir()}
    return with_rates(figures, meta) | {"size_mb": megabytes(data)}


def check_with_doctor(temporary: Path, meta: Figures) -> Figures:
    data = temporary / "wsnode"
    figures, _ = timed([sys.executable, "-m", "wsnode", "doctor", "--data", str(data)], temporary)
    return with_rates(figures, meta) | {"size_mb": megabytes(data)}


def sizes_text(temporary: Path) -> str:
    """Return what the folder takes without free pages, and what its snapshot does.

    A snapshot is compressed with zstd, which is near what the rows have to take.
    """
    data, snapshot, restored = (temporary / name for name in ("wsnode", "snapshot", "restored"))
    wsnode = [sys.executable, "-m", "wsnode"]
    timed([*wsnode, "snapshot", "--data", str(data), str(snapshot)], temporary)
    timed([*wsnode, "restore", "--data", str(restored), str(snapshot)], temporary)
    parts = [(part.name, megabytes(part)) for part in sorted((restored / "eth").iterdir()) if part.is_dir()]
    described = " ".join(f"{name} {size:.1f}" for name, size in parts)
    return (
        f"without free pages: {megabytes(restored):.1f} MB ({described}), with zstd {megabytes(snapshot):.1f}"
    )


def import_with_geth(geth: Path, folder: Path, temporary: Path, meta: Figures) -> Figures:
    data = temporary / "geth"
    plain = temporary / "chain.rlp"
    unpack(chain_file(folder), plain)
    flags = [str(geth), "--datadir", str(data), "--syncmode", "full", "--datadir.minfreedisk", "0"]
    flags += ["--gcmode", "archive", "--state.scheme", "path", "--networkid", str(meta["chainId"])]
    subprocess.run([*flags, "init", str(folder / "genesis.json")], check=True, capture_output=True)
    figures, _ = timed([*flags, "import", "--nocompaction", str(plain)], temporary)
    return with_rates(figures, meta) | {"size_mb": megabytes(data)}


def timed(command: Sequence[str], temporary: Path) -> tuple[Figures, str]:
    busy, start = machine_time().busy, time.perf_counter()
    log = temporary / "output"
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    assert process.returncode == 0, log.read_text()
    cpu = usage.ru_utime + usage.ru_stime
    others = (machine_time().busy - busy - cpu) / wall
    return {"wall": wall, "cpu": cpu, "rss_mb": usage.ru_maxrss / 1024, "others": others}, log.read_text()


def with_rates(figures: Figures, meta: Figures) -> Figures:
    counts, wall = meta["counts"], figures["wall"]
    return figures | {
        "blocks_s": counts["blocks"] / wall,
        "transactions_s": counts["transactions"] / wall,
        "mgas_s": counts["gasUsed"] / 1e6 / wall,
    }


def report(name: str, figures: Figures) -> None:
    order = ("wall", "cpu", "blocks_s", "transactions_s", "mgas_s", "rss_mb", "size_mb", "others")
    parts = " ".join(f"{part} {size:.1f}" for part, size in figures.get("parts_mb", {}).items())
    print(
        f"{name:7} "
        + "  ".join(f"{key} {figures[key]:.2f}" for key in order)
        + (f"  ({parts})" if parts else "")
    )


def megabytes(folder: Path) -> float:
    """Return how large a folder's files are, without holes and without space reserved behind their ends.

    Pebble, which geth is on top of, reserves a gigabyte.
    """
    found = [file.stat() for file in folder.rglob("*") if file.is_file()]
    return sum(min(file.st_size, file.st_blocks * BLOCK) for file in found) / 1e6


if __name__ == "__main__":
    main()
