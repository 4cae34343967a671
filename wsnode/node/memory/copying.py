"""How the C library of a process that runs a node copies memory: decision 0063."""

import os
from pathlib import Path
from typing import Final

VARIABLE: Final = "GLIBC_TUNABLES"
_THRESHOLD: Final = "glibc.cpu.x86_rep_movsb_threshold"
"""Bytes from which on glibc copies by an instruction for bytes, `rep movsb`, instead of by vectors."""
TUNABLE: Final = f"{_THRESHOLD}={1 << 30}"
"""Beyond any copy of a node."""
_SLOW_AT_BYTES: Final = b"AuthenticAMD"
_DESCRIPTION: Final = Path("/proc/cpuinfo")
_BEGINNING: Final = 256


def with_copying(tunables: str, description: Path = _DESCRIPTION) -> str:
    """Return the tunables of glibc with which a node copies fast, where they do not say how already.

    `description` is where the kernel describes the processors.
    """
    if _THRESHOLD in tunables or not _is_slow_at_bytes(description):
        return tunables
    return f"{tunables}:{TUNABLE}" if tunables else TUNABLE


def forget_copying() -> None:
    """Have programs that are started from now on copy as they would without this one."""
    tunables = os.environ.get(VARIABLE, "")
    if tunables == TUNABLE:
        del os.environ[VARIABLE]
    elif tunables.endswith(":" + TUNABLE):
        os.environ[VARIABLE] = tunables.removesuffix(":" + TUNABLE)


def _is_slow_at_bytes(description: Path) -> bool:
    try:
        with description.open("rb") as text:
            return _SLOW_AT_BYTES in text.read(_BEGINNING)
    except OSError:
        return False
