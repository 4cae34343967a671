"""A whole cluster on machines of its own: writers, Redis, replicas with workers, and a balancer."""

import json
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

from tests.cluster.faults.histories import Disturbance
from tests.cluster.faults.machines import Machines, raised_machines
from tests.cluster.faults.programs import Program
from tests.cluster.faults.schedule import CUTS, Fault, Targets, touched
from tests.cluster.faults.servers import ClusterServers, SentinelServers, Servers, ask, primary_of
from tests.cluster.faults.writers import WRITERS, Writers
from tests.deploy.test_haproxy import HAPROXY, configured
from tests.node_process import COMMAND, post, until

REPLICAS: Final = ("one", "two", "three")
BALANCER: Final = "balancer"
PORT: Final = 8545
STRANGER: Final = "0x" + "aa" * 20
SLOT: Final = "0x" + "00" * 31 + "07"
# There is a block whenever one is asked for, and otherwise none: so it is known what is in each.
BLOCK_SECONDS: Final = 3600
READY_SECONDS: Final = 5.0
AWAY: Final = ("kill writer", "pause writer", "part writer")
"""Faults after which another node has to take the lease."""
TOPOLOGIES: Final[dict[str, type[SentinelServers] | type[ClusterServers]]] = {
    "sentinel": SentinelServers,
    "cluster": ClusterServers,
}


class Cluster:
    """All programs by their names, and what happens to them."""

    def __init__(
        self, machines: Machines, folder: Path, servers: Servers, writers: Writers, workers: int
    ) -> None:
        self.machines = machines
        self.servers = servers
        self.writers = writers
        self.folder = folder
        self.programs = dict(servers.programs)
        self.failovers = 0
        self.source_kills: list[float] = []
        self.replica_kills: list[float] = []
        """By `time.monotonic()`."""
        self.happened: Counter[str] = Counter()
        self.disturbances: list[Disturbance] = []
        """Those that are over, by `time.monotonic()`."""
        self._killed: dict[Fault, str] = {}
        self._begun: dict[Fault, float] = {}
        self._add(writers.source, "dev", "--quiet", "--block-time", str(BLOCK_SECONDS))
        genesis = ("--genesis", str(folder / writers.source / "eth/genesis.json"), "--open")
        for name in writers.standbys:
            told = ("--workers", str(writers.workers[name])) if name in writers.workers else ()
            self._add(name, "follow", *genesis, "--upstream", f"ws://{self.address(writers.source)}", *told)
        for name in REPLICAS:
            self._add(name, "replica", *genesis, "--workers", str(workers))
        self.programs[BALANCER] = self._balancer()

    @property
    def targets(self) -> Targets:
        return Targets(
            (*self.nodes, BALANCER),
            self.servers.names,
            self.servers.helpers,
            can_cut=self.machines.can_cut,
            standbys=self.writers.standbys,
            source=self.writers.source,
        )

    @property
    def nodes(self) -> Sequence[str]:
        return (*self.writers.names, *REPLICAS)

    def start(self) -> None:
        """Start all, and return once all are ready."""
        source = self.writers.source
        self.programs[source].start()
        until("the chain is there", lambda: self.is_ready(source))
        self.call(source, "evm_mine")
        for name in (*self.writers.standbys, *REPLICAS, BALANCER):
            self.programs[name].start()
        for name in (*self.writers.standbys, *REPLICAS):
            until(f"{name} is ready", lambda: self.is_ready(name))  # noqa: B023

    def url(self, name: str) -> str:
        return f"http://{self.address(name)}/"

    def address(self, name: str) -> str:
        return f"{self.machines[name].address}:{PORT}"

    def ask(self, name: str, method: str, *params: Any) -> Any:
        """Return the whole reply of a node."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return json.loads(post(self.url(name), json.dumps(request)))

    def call(self, name: str, method: str, *params: Any) -> Any:
        reply = self.ask(name, method, *params)
        assert "result" in reply, reply
        return reply["result"]

    def call_all(self, name: str, calls: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        """Return the results of calls in one batch, in their order."""
        batch = [
            {"jsonrpc": "2.0", "id": place, "method": method, "params": params}
            for place, (method, params) in enumerate(calls)
        ]
        replies = json.loads(post(self.url(name), json.dumps(batch)))
        return [reply["result"] for reply in sorted(replies, key=lambda reply: reply["id"])]

    def is_ready(self, name: str) -> bool:
        with suppress(OSError), urllib.request.urlopen(f"{self.url(name)}readyz", timeout=READY_SECONDS):
            return True
        return False

    def stand(self, name: str) -> dict[str, str]:
        """Return everything that has to be equal at all nodes in the end."""
        block = self.call(name, "eth_getBlockByNumber", "latest", False)
        return {
            **{key: block[key] for key in ("number", "hash", "stateRoot")},
            # These differ from what the root says after a patch.
            "balance": self.call(name, "eth_getBalance", STRANGER, "latest"),
            "slot": self.call(name, "eth_getStorageAt", STRANGER, SLOT, "latest"),
        }

    def begin(self, fault: Fault) -> None:
        """Have a fault happen."""
        self.happened[fault.kind] += 1
        self._begun[fault] = time.monotonic()
        if fault.kind == "flush":
            for name in self.servers.names:
                ask(self.machines[name].address, "FLUSHALL")
        elif fault.kind in CUTS:
            for other in self._beyond(fault):
                self.machines.cut(fault.target, other)
        else:
            self._harm(fault)

    def _beyond(self, fault: Fault) -> Sequence[str]:
        """Return the machines that a cut keeps from its target."""
        if fault.kind == "part writer":
            return [*self.servers.names, *self.servers.helpers]
        return [fault.other]

    def end(self, fault: Fault) -> None:
        """Have it be over."""
        names = tuple(touched(fault, self.targets))
        begun = self._begun.pop(fault)
        self.disturbances.append(Disturbance(names, begun, time.monotonic(), is_away=fault.kind in AWAY))
        if fault.kind in CUTS:
            for other in self._beyond(fault):
                self.machines.mend(fault.target, other)
        elif fault.kind.startswith("pause"):
            self.programs[fault.target].go_on()
        elif fault in self._killed:
            self.programs[self._killed.pop(fault)].start()

    def _harm(self, fault: Fault) -> None:
        target = fault.target
        if fault.kind == "failover":
            target = primary_of(self.machines, self.servers.names)
        program = self.programs[target]
        if fault.kind in ("pause", "pause writer"):
            program.pause()
        elif fault.kind == "pause one":
            program.pause_one(fault.place)
        elif not (fault.kind == "kill one" and program.kill_one(fault.place)):
            self._kill(fault, program)

    def _kill(self, fault: Fault, program: Program) -> None:
        program.kill()
        self._killed[fault] = program.name
        if program.name == self.writers.source:
            self.source_kills.append(time.monotonic())
        elif program.name in REPLICAS:
            self.replica_kills.append(time.monotonic())

    def complaints(self) -> list[str]:
        """Return what nodes did that they never should, so far."""
        found = []
        for name in self.nodes:
            self.programs[name].check()
            found += self.programs[name].ends
            found += [f"{name}: {line}" for line in _tracebacks(self.programs[name].log)]
        for name in REPLICAS:
            if refused := self.call(name, "wsnode_status")["replica"]["refused"]:
                found.append(f"{name} refused {refused} records")
        return found

    def stop(self) -> None:
        """End all, clients' way to them first."""
        nodes = (BALANCER, *reversed(self.nodes))
        for name in (*nodes, *self.servers.helpers, *self.servers.names):
            self.programs[name].stop()

    def _add(self, name: str, command: str, *options: str) -> None:
        where = ("--listen", self.address(name), "--data", str(self.folder / name))
        is_apart = name not in (*self.writers.publishers, *REPLICAS)
        journal = () if is_apart else ("--journal", self.servers.url)
        told = [*COMMAND, command, *where, *journal, *options]
        self.programs[name] = Program(name, self.machines[name], told, self.folder)

    def _balancer(self) -> Program:
        assert HAPROXY is not None
        file = self.folder / "haproxy.cfg"
        addresses = {name: self.address(name) for name in REPLICAS}
        operators = f"{self.machines[BALANCER].address}:{PORT + 1}"
        file.write_text(configured(addresses, self.address(BALANCER), operators))
        return Program(BALANCER, self.machines[BALANCER], (HAPROXY, "-f", str(file)), self.folder)


def _tracebacks(log: Path) -> list[str]:
    return [line for line in log.read_text(errors="replace").splitlines() if "Traceback" in line]


def raised_cluster(stack: ExitStack, folder: Path, topology: str, writer: str, workers: int) -> Cluster:
    """Return a cluster that is ready, and stops with the stack."""
    kind, writers = TOPOLOGIES[topology], WRITERS[writer]
    names = [*writers.names, *REPLICAS, BALANCER, *kind.names, *kind.helpers]
    machines = stack.enter_context(raised_machines(names))
    servers: Servers = kind(machines, folder)
    cluster = Cluster(machines, folder, servers, writers, workers)
    stack.callback(cluster.stop)
    cluster.start()
    return cluster
