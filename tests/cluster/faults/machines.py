"""Machines of a cluster: network namespaces, or addresses of this machine where those are refused."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

import msgspec

NETWORK: Final = "198.18"
"""For benchmarks (RFC 2544)."""
NETWORKS: Final = 250


class Machine(msgspec.Struct, frozen=True):
    """A machine by the address at which the others reach it."""

    name: str
    address: str
    prefix: Sequence[str] = ()
    """What comes before each command that runs there."""


class Machines:
    """Machines by their names, and the lines between them."""

    def __init__(self, machines: Mapping[str, Machine], *, can_cut: bool) -> None:
        self._machines = machines
        self.can_cut = can_cut

    def __getitem__(self, name: str) -> Machine:
        return self._machines[name]

    def cut(self, first: str, second: str) -> None:
        """Have packets between two machines be dropped, without a word to either."""
        self._route("add", first, second)

    def mend(self, first: str, second: str) -> None:
        """Undo a cut."""
        self._route("del", first, second)

    def _route(self, action: str, first: str, second: str) -> None:
        for here, there in ((first, second), (second, first)):
            machine = self[here]
            _ip(*machine.prefix, "ip", "route", action, "blackhole", f"{self[there].address}/32")


@contextmanager
def raised_machines(names: Sequence[str]) -> Iterator[Machines]:
    """Give a machine for each name; there are no lines to cut where namespaces are not allowed."""
    number = os.getpid() % NETWORKS
    with ExitStack() as stack:
        try:
            yield _namespaces(stack, f"{NETWORK}.{number}", names)
        except _RefusedError:
            stack.close()
            local = {name: Machine(name, f"127.18.{number}.{place + 2}") for place, name in enumerate(names)}
            yield Machines(local, can_cut=False)


class _RefusedError(Exception):
    """The system does not allow what a command does."""


def _namespaces(stack: ExitStack, network: str, names: Sequence[str]) -> Machines:
    if shutil.which("ip") is None:
        raise _RefusedError
    bridge = f"faults{network.rpartition('.')[2]}"
    _made(stack, ("link", "add", bridge, "type", "bridge"), ("link", "del", bridge))
    _ip("ip", "addr", "add", f"{network}.1/24", "dev", bridge)
    _ip("ip", "link", "set", bridge, "up")
    made = {name: _namespace(stack, bridge, network, name, place + 2) for place, name in enumerate(names)}
    return Machines(made, can_cut=True)


def _namespace(stack: ExitStack, bridge: str, network: str, name: str, number: int) -> Machine:
    space, line = f"{bridge}-{name}", f"{bridge}n{number}"
    inside = ("ip", "netns", "exec", space)
    _made(stack, ("netns", "add", space), ("netns", "del", space))
    _ip("ip", "link", "add", line, "type", "veth", "peer", "name", "eth0", "netns", space)
    _ip("ip", "link", "set", line, "master", bridge, "up")
    address = f"{network}.{number}"
    _ip(*inside, "ip", "addr", "add", f"{address}/24", "dev", "eth0")
    for device in ("lo", "eth0"):
        _ip(*inside, "ip", "link", "set", device, "up")
    return Machine(name, address, inside)


def _made(stack: ExitStack, command: Sequence[str], undone: Sequence[str]) -> None:
    _ip("ip", *command)
    stack.callback(_ip, "ip", *undone)


def _ip(*command: str) -> None:
    """Run a command.

    Raises:
        _RefusedError: It failed.
    """
    if subprocess.run(command, capture_output=True, check=False).returncode:
        raise _RefusedError(command)
