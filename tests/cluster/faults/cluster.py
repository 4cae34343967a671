"""A whole cluster on machines of its own: a writer, Redis, replicas with workers, and a balancer."""

import json
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

from tests.cluster.faults.machines import Machines, raised_machines
from tests.cluster.faults.programs import Program
from tests.cluster.faults.schedule import Fault, Targets
from tests.cluster.faults.servers import ClusterServers, SentinelServers, Servers, ask, primary_of
from tests.deploy.test_haproxy import HAPROXY, configured
from tests.node_process import COMMAND, post, until

LEADER: Final = "leader"
REPLICAS: Final = ("one", "two", "three")
BALANCER: Final = "balancer"
PORT: Final = 8545
STRANGER: Final = "0x" + "aa" * 20
SLOT: Final = "0x" + "00" * 31 + "07"
# The writer has a block whenever it is asked for one, and otherwise none: so it is known what is in each.
BLOCK_SECONDS: Final = 3600
READY_SECONDS: Final = 5.0
TOPOLOGIES: Final[dict[str, type[SentinelServers] | type[ClusterServers]]] = {
    "sentinel": SentinelServers,
    "cluster": ClusterServers,
}


class Cluster:
    """All programs by their names, and what happens to them."""

    def __init__(self, machines: Machines, folder: Path, servers: Servers, workers: int) -> None:
        self.machines = machines
        self.servers = servers
        self.folder = folder
        self.programs = dict(servers.programs)
        self.failovers = 0
        self.leader_kills: list[float] = []
        self.replica_kills: list[float] = []
        """By `time.monotonic()`."""
        self.happened: Counter[str] = Counter()
        self._killed: dict[Fault, str] = {}
        self._add(LEADER, "dev", "--quiet", "--block-time", str(BLOCK_SECONDS))
        genesis = str(folder / LEADER / "eth/genesis.json")
        for name in REPLICAS:
            self._add(name, "replica", "--genesis", genesis, "--workers", str(workers), "--open")
        self.programs[BALANCER] = self._balancer()

    @property
    def targets(self) -> Targets:
        nodes = (LEADER, *REPLICAS, BALANCER)
        return Targets(nodes, self.servers.names, self.servers.helpers, can_cut=self.machines.can_cut)

    @property
    def nodes(self) -> Sequence[str]:
        return (LEADER, *REPLICAS)

    def start(self) -> None:
        """Start all, and return once all are ready."""
        self.programs[LEADER].start()
        until("the writer answers", lambda: self.is_ready(LEADER))
        self.call(LEADER, "evm_mine")
        for name in (*REPLICAS, BALANCER):
            self.programs[name].start()
        for name in REPLICAS:
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

    def is_ready(self, name: str) -> bool:
        return self._says_yes(name, "readyz")

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
        if fault.kind == "flush":
            for name in self.servers.names:
                ask(self.machines[name].address, "FLUSHALL")
        elif fault.kind == "cut":
            self.machines.cut(fault.target, fault.other)
        else:
            self._harm(fault)

    def end(self, fault: Fault) -> None:
        """Have it be over."""
        if fault.kind == "cut":
            self.machines.mend(fault.target, fault.other)
        elif fault.kind.startswith("pause"):
            self.programs[fault.target].go_on()
        elif fault in self._killed:
            self.programs[self._killed.pop(fault)].start()

    def _harm(self, fault: Fault) -> None:
        target = fault.target
        if fault.kind == "failover":
            target = primary_of(self.machines, self.servers.names)
        program = self.programs[target]
        if fault.kind == "pause":
            program.pause()
        elif fault.kind == "pause one":
            program.pause_one(fault.place)
        elif not (fault.kind == "kill one" and self._is_one_killed(program, fault.place)):
            self._kill(fault, program)

    def _is_one_killed(self, program: Program, place: int) -> bool:
        """Return whether a process of a node was killed that the node itself replaces."""
        # Before a node serves, its children need not be its workers.
        return self._says_yes(program.name, "healthz") and program.kill_one(place)

    def _says_yes(self, name: str, path: str) -> bool:
        with suppress(OSError), urllib.request.urlopen(f"{self.url(name)}{path}", timeout=READY_SECONDS):
            return True
        return False

    def _kill(self, fault: Fault, program: Program) -> None:
        program.kill()
        self._killed[fault] = program.name
        if program.name == LEADER:
            self.leader_kills.append(time.monotonic())
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
        for name in (BALANCER, *REPLICAS, LEADER, *self.servers.helpers, *self.servers.names):
            self.programs[name].stop()

    def _add(self, name: str, command: str, *options: str) -> None:
        where = ("--listen", self.address(name), "--data", str(self.folder / name))
        told = [*COMMAND, command, *where, "--journal", self.servers.url, *options]
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


def raised_cluster(stack: ExitStack, folder: Path, topology: str, workers: int) -> Cluster:
    """Return a cluster that is ready, and stops with the stack."""
    kind = TOPOLOGIES[topology]
    names = [LEADER, *REPLICAS, BALANCER, *kind.names, *kind.helpers]
    machines = stack.enter_context(raised_machines(names))
    servers: Servers = kind(machines, folder)
    cluster = Cluster(machines, folder, servers, workers)
    stack.callback(cluster.stop)
    cluster.start()
    return cluster
