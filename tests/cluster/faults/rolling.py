"""A rolling restart: an operator ends each program of a cluster, and starts it again before the next one."""

import json
import time
from contextlib import suppress
from typing import Final

from tests.cluster.faults.cluster import BALANCER, REPLICAS, Cluster
from tests.cluster.faults.servers import PORT, SENTINEL_PORT, ask, primary_of
from tests.node_process import post, until

GREETING: Final = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []})
STEADY_SECONDS: Final = 2.0
"""Between two restarts, in which all may find each other again: a balancer looks once a second."""


def roll(cluster: Cluster) -> None:
    """Restart every program: replicas, writers, Sentinels, Redis servers, and the balancer."""
    primary = primary_of(cluster.machines, cluster.servers.names)
    others = [name for name in cluster.servers.names if name != primary]
    for name in (*REPLICAS, *cluster.writers.names, *cluster.servers.helpers, *others):
        _restart(cluster, name)
    _hand_over(cluster, primary)
    for name in (primary, BALANCER):
        _restart(cluster, name)


def _restart(cluster: Cluster, name: str) -> None:
    program, began = cluster.programs[name], time.monotonic()
    status = program.stop()
    if name in cluster.nodes and status != 0:
        program.ends.append(f"{name} ended with {status}")
    program.start()
    until(f"{name} is back", lambda: _is_back(cluster, name))
    print(f"{name} is back after {time.monotonic() - began:.2f} s", flush=True)
    time.sleep(STEADY_SECONDS)


def _is_back(cluster: Cluster, name: str) -> bool:
    if name in cluster.nodes:
        return cluster.is_ready(name)
    if name == BALANCER:
        with suppress(OSError):
            return "result" in json.loads(post(cluster.url(name), GREETING))
        return False
    address = cluster.machines[name].address
    if name in cluster.servers.helpers:
        return "+PONG" in ask(address, "PING", SENTINEL_PORT)
    return "connected" in ask(address, "ROLE", PORT)


def _hand_over(cluster: Cluster, primary: str) -> None:
    """Have another Redis take the writes, as an operator does before the first one is restarted."""
    machines, names = cluster.machines, cluster.servers.names
    sentinel = machines[cluster.servers.helpers[0]].address
    until("a Sentinel hands over", lambda: "+OK" in ask(sentinel, "SENTINEL FAILOVER main", SENTINEL_PORT))
    until("another one writes", lambda: "slave" in ask(machines[primary].address, "ROLE"))
    until("it holds the journal", lambda: primary_of(machines, names) != primary)
