"""A run of a cluster under faults: what was recorded, and figures of how much of it there was."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.cluster.faults.clients import Client, Demanding, HeadSubscriber, LogSubscriber, Sender
from tests.cluster.faults.cluster import BALANCER, REPLICAS, Cluster, raised_cluster
from tests.cluster.faults.histories import (
    Disturbance,
    Fates,
    History,
    believed_heads,
    believed_logs,
    takeovers,
    told_blocks,
)
from tests.cluster.faults.rolling import roll
from tests.cluster.faults.schedule import HELPERS, REDIS, moments, schedule
from tests.cluster.faults.watching import Watching
from tests.cluster.faults.weather import Weather
from tests.node_process import run

LOG_SUBSCRIBERS: Final = 8
HEAD_SUBSCRIBERS: Final = 6
DEMANDING: Final = 4
# Of the second and third of the accounts that a development chain begins with.
KEYS: Final = (
    "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
    "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
)
SETTLE_SECONDS: Final = 90.0
BLOCKS_AT_ONCE: Final = 100
SUPERSEDED: Final = ("nonce too low", "underpriced")


class Plan(msgspec.Struct, frozen=True):
    """What a run follows from."""

    seed: int
    seconds: float
    topology: str
    writer: str
    workers: int
    groups: int = 1
    """Of eighteen clients each; two more send."""


class Outcome(msgspec.Struct, frozen=True):
    """What a run was."""

    history: History
    figures: dict[str, Any]


class Crowd:
    """All clients of a run."""

    def __init__(self, address: str, emitter: str, plan: Plan, begin: float) -> None:
        seed, groups = plan.seed, plan.groups
        self.logs = [
            LogSubscriber(f"logs {place}", address, seed + place, emitter)
            for place in range(groups * LOG_SUBSCRIBERS)
        ]
        self.heads = [
            HeadSubscriber(f"heads {place}", address, seed + place)
            for place in range(groups * HEAD_SUBSCRIBERS)
        ]
        self.demanding = [
            Demanding(f"min_block {place}", address, seed + place) for place in range(groups * DEMANDING)
        ]
        self.senders = [
            Sender(f"sender {place}", address, seed, key, begin) for place, key in enumerate(KEYS)
        ]

    @property
    def everyone(self) -> list[Client]:
        return [*self.logs, *self.heads, *self.demanding, *self.senders]

    def counts(self) -> Counter[str]:
        return sum((client.counts for client in self.everyone), Counter[str]())

    def failures(self) -> list[str]:
        return [reason for client in self.everyone for reason in client.failures]


def endure(folder: Path, plan: Plan, ordeal: Callable[[Cluster, Plan, float], None]) -> Outcome:
    """Run a cluster through an ordeal, let it come to rest, and return what was recorded."""
    with ExitStack() as stack:
        cluster = raised_cluster(stack, folder, plan.topology, plan.writer, plan.workers)
        weather, begin = Weather(cluster, plan.seed), time.monotonic()
        watching = Watching(cluster, begin)
        crowd = Crowd(cluster.address(BALANCER), weather.chain.emitter, plan, begin)
        threads: list[Weather | Watching | Client] = [weather, watching, *crowd.everyone]
        for thread in threads:
            stack.callback(thread.end)
            thread.start()
        ordeal(cluster, plan, begin)
        weather.end()
        weather.join()
        history = settled(cluster, crowd, weather, watching, begin)
        figures = figured(cluster, crowd, weather, history)
    names = cluster.nodes
    return Outcome(
        msgspec.structs.replace(history, complaints=[*history.complaints, *doctored(folder, names)]), figures
    )


def rage(cluster: Cluster, plan: Plan, begin: float) -> None:
    """Have all faults begin and end, each at its moment."""
    faults = schedule(plan.seed, plan.seconds, cluster.targets)
    for at, fault, begins in moments(faults):
        time.sleep(max(0.0, begin + at - time.monotonic()))
        print(f"{time.monotonic() - begin:7.2f} {'begins' if begins else 'ends'}: {fault}", flush=True)
        (cluster.begin if begins else cluster.end)(fault)


def restart_all(cluster: Cluster, _plan: Plan, _begin: float) -> None:
    """Have an operator restart every program, one after another."""
    roll(cluster)


def settled(cluster: Cluster, crowd: Crowd, weather: Weather, watching: Watching, begin: float) -> History:
    """Return the history once all clients have every notification, or once that takes too long."""
    wait(lambda: all(map(cluster.is_ready, cluster.nodes)))
    complaints = stuck(cluster, crowd)
    # A last block, so that heads tell of all before it.
    weather.chain.emit()
    weather.chain.call("evm_mine")
    for sender in crowd.senders:
        sender.end()
        sender.join()
    weather.chain.call("evm_mine")
    stands = partial(stands_of, cluster)
    wait(lambda: len({tuple(stand.values()) for stand in stands().values()}) == 1)
    wait(lambda: all(map(cluster.is_ready, REPLICAS)))
    canonical, mined = weather.canonical()
    logs = weather.chain.logs()
    wait(lambda: all(believed_logs(client.told) == logs for client in crowd.logs))
    wait(lambda: all(believed_heads(client.told)[-1:] == canonical[-1:] for client in crowd.heads))
    for client in crowd.everyone:
        client.end()
    for client in crowd.everyone:
        client.join()
    watching.end()
    fates = fates_of(cluster, crowd, frozenset(mined), frozenset(weather.dropped))
    history = History(
        logs={client.name: client.told for client in crowd.logs},
        heads={client.name: client.told for client in crowd.heads},
        answers={client.name: client.told for client in crowd.demanding},
        sent=[sent for client in crowd.senders for sent in client.told],
        fates=fates,
        kills=[kill - begin for kill in cluster.source_kills],
        replica_kills=[kill - begin for kill in cluster.replica_kills],
        journals=watching.journals,
        held=watching.held,
        disturbances=[since(begin, each) for each in cluster.disturbances],
        reliances=frozenset((*cluster.writers.standbys, cluster.writers.source, REDIS, HELPERS)),
        stands=stands(),
        canonical=canonical,
        canonical_logs=logs,
        had=frozenset(),
        complaints=[*complaints, *weather.failures, *crowd.failures(), *cluster.complaints()],
    )
    return msgspec.structs.replace(history, had=had(cluster, list(told_blocks(history))))


def since(begin: float, disturbance: Disturbance) -> Disturbance:
    """Return a disturbance with its times from the begin of a run."""
    return msgspec.structs.replace(disturbance, begin=disturbance.begin - begin, end=disturbance.end - begin)


def had(cluster: Cluster, blocks: Sequence[str]) -> frozenset[str]:
    """Return which blocks the node that makes them has, on its chain or beside it."""
    found: list[str] = []
    for first in range(0, len(blocks), BLOCKS_AT_ONCE):
        asked = [("eth_getBlockByHash", [block, False]) for block in blocks[first : first + BLOCKS_AT_ONCE]]
        replies = cluster.call_all(cluster.writers.source, asked)
        found += [block["hash"] for block in replies if block is not None]
    return frozenset(found)


def stuck(cluster: Cluster, crowd: Crowd) -> list[str]:
    """Return whose transactions get into no block any more, though all nodes are there."""
    before = {sender: _nonce(cluster, sender) for sender in crowd.senders}

    def have_moved() -> bool:
        cluster.call(cluster.writers.source, "evm_mine")
        return all(_nonce(cluster, sender) > nonce for sender, nonce in before.items())

    wait(have_moved)
    return [
        f"no block takes the transactions of {sender.name}"
        for sender, nonce in before.items()
        if _nonce(cluster, sender) == nonce
    ]


def _nonce(cluster: Cluster, sender: Sender) -> int:
    return int(cluster.call(cluster.writers.source, "eth_getTransactionCount", sender.account, "latest"), 16)


def wait(condition: Callable[[], bool]) -> None:
    """Return once it holds, or after a while: the checker says then what does not."""
    end = time.monotonic() + SETTLE_SECONDS
    while not condition() and time.monotonic() < end:
        time.sleep(0.2)


def stands_of(cluster: Cluster) -> dict[str, dict[str, str]]:
    return {name: cluster.stand(name) for name in cluster.nodes}


def fates_of(cluster: Cluster, crowd: Crowd, mined: frozenset[str], dropped: frozenset[str]) -> Fates:
    """Return what became of what was sent; what is nowhere is sent again, to hear why it may not be."""
    pending = frozenset(each for name in cluster.nodes for each in _pool(cluster, name))
    left = {
        name: raw
        for sender in crowd.senders
        for name, raw in sender.raw.items()
        if name not in mined | pending | dropped
    }
    refused = {name for name, raw in left.items() if _is_superseded(cluster, raw)}
    return Fates(mined, pending, dropped, frozenset(refused))


def _pool(cluster: Cluster, name: str) -> list[str]:
    content = cluster.call(name, "txpool_content")
    return [
        transaction["hash"]
        for part in ("pending", "queued")
        for by_nonce in content[part].values()
        for transaction in by_nonce.values()
    ]


def _is_superseded(cluster: Cluster, raw: str) -> bool:
    reply = cluster.ask(cluster.writers.source, "eth_sendRawTransaction", raw)
    return any(reason in reply.get("error", {}).get("message", "") for reason in SUPERSEDED)


def figured(cluster: Cluster, crowd: Crowd, weather: Weather, history: History) -> dict[str, Any]:
    """Return how much there was of everything."""
    records = {entry.id for entries in history.journals for entry in entries}
    writers = {held.epoch: held.writer for held in history.held}
    return {
        "faults": dict(cluster.happened),
        "chain": dict(weather.counts),
        "clients": dict(crowd.counts()),
        "notifications": sum(len(client.told) for client in crowd.logs)
        + sum(len(client.told) for client in crowd.heads),
        "answers": sum(len(client.told) for client in crowd.demanding),
        "acknowledged": sum(len(client.raw) for client in crowd.senders),
        "records": len(records),
        "epochs": len({epoch for epoch, _number in records}),
        "seconds of takeovers": [round(seconds, 1) for _fault, seconds in takeovers(history) if seconds],
        "takeovers": sum(writers[before] != writers[after] for before, after in pairwise(sorted(writers))),
    }


def doctored(folder: Path, names: Sequence[str]) -> list[str]:
    """Return which folders are not sound."""
    ended = {name: run("doctor", "--data", str(folder / name)) for name in names}
    return [f"{name}: {each.stdout}{each.stderr}" for name, each in ended.items() if each.returncode]
