"""Programs on machines of a cluster, which are killed, paused and started again."""

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.cluster.faults.machines import Machine
from tests.node.workers.processes import command_of
from tests.node_process import until

WORKER: Final = "wsnode.node.workers.serving.worker"
"""What the command of a process of a node with workers has."""


class Program:
    """A command with all processes that it starts, over kills and restarts."""

    def __init__(self, name: str, machine: Machine, command: Sequence[str], folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._command = [*machine.prefix, *command]
        self._process: subprocess.Popen[bytes] | None = None
        self.ends: list[str] = []
        """How it ended without being killed, in a line for each time."""

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, start_new_session=True)

    def kill(self) -> None:
        """End all processes as a power failure would."""
        process = self._running()
        if (status := process.poll()) is not None:
            self.ends.append(f"{self.name} ended by itself with {status}")
        self._signal_all(signal.SIGKILL)
        process.wait()
        until("all processes are gone", lambda: not self._members())
        self._process = None

    def kill_one(self, place: int) -> bool:
        """End a process that the first one replaces; return whether there is one."""
        # While a node starts, it may run others as well.
        replaced = [pid for pid in self._members() if WORKER in command_of(pid)]
        if not replaced:
            return False
        _signal(replaced[place % len(replaced)], signal.SIGKILL)
        return True

    def pause(self) -> None:
        self._signal_all(signal.SIGSTOP)

    def pause_one(self, place: int) -> None:
        members = self._members()
        if members:
            _signal(members[place % len(members)], signal.SIGSTOP)

    def go_on(self) -> None:
        """Undo all pauses."""
        self._signal_all(signal.SIGCONT)

    def stop(self) -> int | None:
        """End the program as its operator does, and return its exit status; `None` if it does not run."""
        if self._process is None:
            return None
        self.go_on()
        if self._process.poll() is None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(30)
        self.kill_rest()
        return self._process.returncode

    def kill_rest(self) -> None:
        """End what there still is."""
        if self._process is not None:
            self._signal_all(signal.SIGKILL)
            self._process.wait()

    def check(self) -> None:
        """Note if it has ended by itself."""
        if self._process is not None and (status := self._process.poll()) is not None:
            self.ends.append(f"{self.name} ended by itself with {status}")

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, self.name
        return self._process

    def _signal_all(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._running().pid, number)

    def _members(self) -> list[int]:
        """Return the processes that live, the first one first."""
        group = self._running().pid
        found = (int(entry) for entry in os.listdir("/proc") if entry.isdecimal())
        return sorted(pid for pid in found if _lives_in(pid, group))


def _signal(process: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)


def _lives_in(pid: int, group: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    state, _parent, own = text.rpartition(")")[2].split()[:3]
    return int(own) == group and state not in "ZX"
