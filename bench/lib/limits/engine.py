"""What no import and no call can take less than: secp256k1 recovery and revm alone."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from bench.lib.started import chain_file, unpack

CRATE = Path(__file__).parents[3] / "wsnode/native/Cargo.toml"


class EngineLimit(msgspec.Struct, frozen=True):
    """CPU time of one thread, on tables in memory."""

    recovery: float
    """Seconds for the senders of all transactions of a chain."""
    execution: float
    """Seconds for the transactions, without roots, receipts and rows."""
    call: float
    """Microseconds for a balance of a token."""
    transfer: float
    """Microseconds for a transfer without its signature, which is what an estimate runs."""


def engine_limit(folder: Path) -> EngineLimit | None:
    """Return what the chain of a folder takes at least; None, said on standard error, without cargo.

    The first time cargo builds the engine, which takes minutes.
    """
    cargo = shutil.which("cargo")
    if cargo is None:
        print("no cargo for the limit of the engine", file=sys.stderr)
        return None
    token = json.loads((folder / "meta.json").read_text())["token"]
    with tempfile.TemporaryDirectory(prefix="limit-") as temporary:
        plain = Path(temporary) / "chain.rlp"
        unpack(chain_file(folder), plain)
        program = [
            cargo,
            "run",
            "--quiet",
            "--release",
            "--manifest-path",
            CRATE,
            "--example",
            "limits",
            "--",
        ]
        command = [*program, folder / "genesis.json", plain, token]
        ended = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return msgspec.json.decode(ended.stdout, type=EngineLimit)
