"""This machine: the use of its cores and memory by processes, from /proc, and the limit of open files."""

import os
import platform
import resource
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from wsnode.release import release

TICK: Final = 1 / os.sysconf("SC_CLK_TCK")
SCHEDULED: Final = 2
"""Kind of a process's clock that counts its scheduled time (CPUCLOCK_SCHED of Linux)."""


class BenchContext(NamedTuple):
    """Conditions of a measurement, for its report: the date, the client's machine and system, and the
    versions of the client's software.
    """

    date: str
    """Date in UTC, in the form of ISO 8601, to the second."""
    machine: str
    cores: int
    """Number of cores that this process may use."""
    memory_bytes: int
    system: str
    client: str
    """Versions of the client's software."""

    @property
    def words(self) -> str:
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
    """Return the kernel's name of the processor, an empty text where it is unknown."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return ""


class MachineTime(NamedTuple):
    """CPU time of all cores together since the machine began, in seconds: `busy`, and `all` with idle."""

    busy: float
    all: float

    def part_since(self, before: "MachineTime") -> float:
        """Return the part of all cores used since `before`, from 0 to 1, 0 where it is unknown."""
        return (self.busy - before.busy) / (self.all - before.all) if self.all > before.all else 0.0


def machine_time() -> MachineTime:
    """Return the busy seconds and all seconds of this machine's cores, 0 where they are unknown."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    except OSError:
        return MachineTime(0.0, 0.0)
    seconds = [TICK * int(field) for field in fields]
    idle = seconds[3] + seconds[4]
    return MachineTime(sum(seconds) - idle, sum(seconds))


class CpuUsage(NamedTuple):
    """CPU use over a period: `process` is the part of one core used by this process, `machine` the used part
    of all cores, 0 where unknown.
    """

    process: float
    machine: float


class CpuMeter:
    """Meter of the CPU use of this process and of the whole machine since the meter was made."""

    def __init__(self) -> None:
        self._used, self._began, self._machine = time.process_time(), time.perf_counter(), machine_time()

    def parts(self) -> CpuUsage:
        """Return the parts that were used until now."""
        seconds = time.perf_counter() - self._began
        process = (time.process_time() - self._used) / seconds
        return CpuUsage(process, machine_time().part_since(self._machine))


def cpu_seconds(process: int) -> float:
    """Return the CPU seconds that a process has used, its ended threads included.

    They are read from the process's clock, as clock_getcpuclockid(3) names it: /proc counts in hundredths of
    a second.

    Raises:
        OSError: There is no such process.
    """
    return time.clock_gettime(~process << 3 | SCHEDULED)


def resident_bytes(process: int) -> int:
    """Return the resident memory of a process in bytes.

    Raises:
        OSError: There is no such process.
    """
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def children_of(process: int) -> list[int]:
    """Return the ids of the running processes that a process has started, the oldest first.

    Raises:
        OSError: There is no such process.
    """
    found = list[str]()
    # /proc lists a child under the thread that started it, or under another thread once the first has ended.
    for task in Path(f"/proc/{process}/task").iterdir():
        # The thread may have ended since.
        with suppress(FileNotFoundError, ProcessLookupError):
            found += (task / "children").read_text().split()
    return oldest_first(_stats(set(found)))


def oldest_first(stats: Iterable[str]) -> list[int]:
    """Return the ids of processes, the oldest first, from the text of /proc/PID/stat of each.

    Ids are in no such order: after the largest one, which may be 32,768, small ones are given again
    (proc_pid_stat(5), `starttime`).
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


RESERVED_FILES: Final = 64
"""Open files that the program itself needs."""


class DescriptorError(OSError):
    """Error of connections that need more open files than this process may have."""

    def __init__(self, connections: int, needed: int, limit: int) -> None:
        super().__init__(
            f"{connections:,} connections need {needed:,} open files and the limit is {limit:,}: "
            f"raise it with `ulimit -n {needed}`"
        )
        self.connections = connections
        self.needed = needed
        self.limit = limit


def allow_connections(count: int) -> None:
    """Raise the limit of this process, and of those that it starts, to the files of these connections.

    Raises:
        DescriptorError: The system does not allow it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = count + RESERVED_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if resource.RLIM_INFINITY != hard < needed:
        raise DescriptorError(count, needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
