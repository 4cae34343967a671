"""The clients in C, compiled when they are first needed.

A client in Python takes as long for a small reply as a fast node takes to make it, and so measures itself.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "clients"


def compiled(name: str) -> Path | None:
    """Return the program made of `bench/clients/NAME.c`; None, said on standard error, without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    source, shared = SOURCES / f"{name}.c", SOURCES / "client.h"
    digest = hashlib.sha256(source.read_bytes() + shared.read_bytes()).hexdigest()[:16]
    program = _folder() / f"{name}-{digest}"
    if program.exists():
        return program
    if compiler is None:
        print(f"no C compiler for {source.name}", file=sys.stderr)
        return None
    unfinished = program.with_suffix(f".{os.getpid()}")
    subprocess.run([compiler, "-O2", "-o", unfinished, source], check=True)
    return unfinished.rename(program)


def _folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wsnode-bench"
    cache.mkdir(parents=True, exist_ok=True)
    return cache
