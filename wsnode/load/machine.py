"""What this machine is, and what its kernel says of it and of processes on it, from /proc."""

import os
import platform
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from wsnode.release import release

TICK: Final = 1 / os.sysconf("SC_CLK_TCK")
SCHEDULED: Final = 2
"""The kind of a process's clock that counts what the scheduler gave it (CPUCLOCK_SCHED of Linux)."""


class BenchContext(NamedTuple):
    """When and on what a measurement was made."""

    date: str
    """In UTC, as ISO 8601 has it, to the second."""
    machine: str
    cores: int
    """Those that this process may use."""
    memory_bytes: int
    system: str
    client: str
    """The versions of what measured."""

    @property
    def words(self) -> str:
        """Return them as a sentence."""
        cores = "1 core" if self.cores == 1 else f"{self.cores} cores"
        memory = f"{self.memory_bytes / (1 << 30):.1f} GiB"
        return f"{self.date}, client on {self.machine}, {cores}, {memory}, {self.system}; {self.client}"


def circumstances() -> BenchContext:
    """Return the present date, this machine, and the versions of what measures."""
    system = platform.uname()
    return BenchContext(
        datetime.now(UTC).isoformat(timespec="seconds"),
        _processor() or system.machine,
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        f"{system.system} {system.release} {system.machine}",
        f"wsnode {release()}, Python {platform.python_version()}",
    )


def _processor() -> str:
    """Return what the kernel calls the processor, nothing where that is unknown."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return ""


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


class CpuUsage(NamedTuple):
    """The part of a core that a process used, and that of all cores that was in use, 0 where unknown."""

    process: float
    machine: float


class ClientUse:
    """What this process and all of this machine compute from now on."""

    def __init__(self) -> None:
        self._used, self._began, self._machine = time.process_time(), time.perf_counter(), machine_time()

    def parts(self) -> CpuUsage:
        """Return what was used until now."""
        seconds = time.perf_counter() - self._began
        process = (time.process_time() - self._used) / seconds
        return CpuUsage(process, machine_time().part_since(self._machine))


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
    return oldest_first(_stats(set(found)))


def oldest_first(stats: Iterable[str]) -> list[int]:
    """Return the ids of processes, the one that was started first at the beginning.

    `stats` is what /proc says of each. Ids do not tell it: after the largest one, which may be 32,768, small
    ones are given again (proc_pid_stat(5), `starttime`).
    """
    begun = list[tuple[int, int]]()
    for stat in stats:
        process, _, others = stat.partition(" (")
        begun.append((int(others.rpartition(")")[2].split()[19]), int(process)))
    return [process for _, process in sorted(begun)]


def _stats(processes: Iterable[str]) -> Iterator[str]:
    for process in processes:
        # The process may have ended since.
        with suppress(FileNotFoundError, ProcessLookupError):
            yield Path(f"/proc/{process}/stat").read_text(errors="replace")
