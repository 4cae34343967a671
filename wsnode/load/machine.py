"""What the kernel says of this machine and of processes on it, from /proc."""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

TICK: Final = 1 / os.sysconf("SC_CLK_TCK")
SCHEDULED: Final = 2
"""The kind of a process's clock that counts what the scheduler gave it (CPUCLOCK_SCHED of Linux)."""


class MachineTime(NamedTuple):
    """The seconds that all cores have computed, and that there were, since the machine began."""

    busy: float
    all: float

    def part_since(self, before: "MachineTime") -> float:
        """Return the part of all cores that was busy since `before`, 0 where that is unknown."""
        return (self.busy - before.busy) / (self.all - before.all) if self.all > before.all else 0.0


def machine_time() -> MachineTime:
    """Return what the cores of this machine have computed, 0 where that is unknown."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    except OSError:
        return MachineTime(0.0, 0.0)
    seconds = [TICK * int(field) for field in fields]
    idle = seconds[3] + seconds[4]
    return MachineTime(sum(seconds) - idle, sum(seconds))


class ClientParts(NamedTuple):
    """The part of a core that a process used, and that of all cores that was in use, 0 where unknown."""

    process: float
    machine: float


class ClientUse:
    """What this process and all of this machine compute from now on."""

    def __init__(self) -> None:
        self._used, self._began, self._machine = time.process_time(), time.perf_counter(), machine_time()

    def parts(self) -> ClientParts:
        """Return what was used until now."""
        seconds = time.perf_counter() - self._began
        process = (time.process_time() - self._used) / seconds
        return ClientParts(process, machine_time().part_since(self._machine))


def cpu_seconds(process: int) -> float:
    """Return the time that a process has computed, its ended threads included.

    It is read from the process's clock, as clock_getcpuclockid(3) names it: /proc counts in hundredths of a
    second.

    Raises:
        OSError: There is no such process.
    """
    return time.clock_gettime(~process << 3 | SCHEDULED)


def resident_bytes(process: int) -> int:
    """Return how much memory a process has.

    Raises:
        OSError: There is no such process.
    """
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def children_of(process: int) -> list[int]:
    """Return the ids of the processes that a process has started and that still run, the oldest first.

    Raises:
        OSError: There is no such process.
    """
    found = list[str]()
    # A child belongs to the thread that started it, and to another one when that has ended.
    for task in Path(f"/proc/{process}/task").iterdir():
        # The thread may have ended since.
        with suppress(FileNotFoundError, ProcessLookupError):
            found += (task / "children").read_text().split()
    return sorted({int(child) for child in found})
