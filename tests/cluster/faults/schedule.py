"""Faults drawn from a seed: a pure function, so that a schedule can be printed and repeated."""

import random
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

KINDS: Final = {"kill": 5, "kill one": 5, "pause": 5, "pause one": 4, "failover": 3, "flush": 1, "cut": 4}
"""How often each kind comes beside the others.

kill: SIGKILL of all processes of a target, which are started again. kill one: of one of its processes alone.
pause, pause one: SIGSTOP, and SIGCONT in the end. failover: SIGKILL of the Redis that takes writes. flush:
FLUSHALL. cut: neither of two machines reaches the other.
"""
WRITER_KINDS: Final = {"kill writer": 4, "pause writer": 4, "part writer": 5, "starve writer": 3}
"""The same where several nodes stand by to write the journal: each lasts longer than a lease.

kill writer, pause writer: as above, of one of these nodes. part writer: it reaches no Redis and no Sentinel.
starve writer: it does not reach the node that it follows.
"""
FEWEST_SECONDS: Final = 0.5
MAX_SECONDS: Final = 8.0
MAX_GAP: Final = 4.0
LONG_SECONDS: Final = (7.5, 11.0)
"""Of a fault after which another node has taken the lease: that takes 6 seconds."""
LONG_PAUSE_SECONDS: Final = (7.0, 8.0)
CUTS: Final = ("cut", "part writer", "starve writer")
HELPERS: Final = "helpers"
REDIS: Final = "redis"
"""Stands in a schedule for the Redis servers, of which at most one is away at any time."""


class Fault(msgspec.Struct, frozen=True):
    """Something that goes wrong at a moment, and is right again after a while."""

    at: float
    """In seconds after the begin."""
    kind: str
    target: str
    """A node, a Redis or a Sentinel by its name."""
    seconds: float
    """From the fault to its end."""
    place: int
    """Which of the target's processes, modulo their number."""
    other: str = ""
    """Where the line from the target leads that is cut."""

    def __str__(self) -> str:
        line = f" from {self.other}" if self.other else ""
        return f"{self.at:7.2f} {self.kind} {self.target}{line} for {self.seconds:.2f} s"


class Targets(msgspec.Struct, frozen=True):
    """What faults can happen to."""

    nodes: tuple[str, ...]
    """Of which each has several processes, maybe; any of them may be away at the same time."""
    servers: Sequence[str]
    """Of Redis."""
    helpers: Sequence[str]
    """Sentinels, of which most have to be there."""
    can_cut: bool
    """Whether there are lines between machines."""
    standbys: tuple[str, ...] = ()
    """The nodes that write the journal, one at a time, where there are several."""
    source: str = ""
    """The node that they follow."""


def schedule(seed: int, seconds: float, targets: Targets) -> list[Fault]:
    """Return the faults of a run of some seconds by their time; those of one target do not overlap."""
    chance = random.Random(seed)
    free: dict[str, float] = {}
    faults = []
    at = chance.uniform(0, MAX_GAP)
    while at < seconds:
        fault = _drawn(chance, at, targets)
        groups = touched(fault, targets)
        if all(free.get(group, 0.0) <= at for group in groups):
            faults.append(fault)
            free.update(dict.fromkeys(groups, at + fault.seconds + FEWEST_SECONDS))
        at += chance.uniform(0, MAX_GAP)
    return faults


def _drawn(chance: random.Random, at: float, targets: Targets) -> Fault:
    kinds = {**KINDS, **(WRITER_KINDS if targets.standbys else {})}
    kinds = {kind: weight for kind, weight in kinds.items() if kind not in CUTS or targets.can_cut}
    (kind,) = chance.choices(list(kinds), list(kinds.values()))
    if kind in WRITER_KINDS:
        return _drawn_of_writer(chance, at, kind, targets)
    everything = [*targets.nodes, *targets.servers, *targets.helpers]
    # Most of what can go wrong is in the nodes.
    likely = list(targets.nodes) if kind.endswith(" one") else [*targets.nodes * 2, *everything]
    target = {"failover": REDIS, "flush": REDIS}.get(kind) or chance.choice(likely)
    others = [name for name in everything if _group(name, targets) != _group(target, targets)]
    seconds = round(chance.uniform(FEWEST_SECONDS, MAX_SECONDS), 2)
    other, place = chance.choice(others), chance.randrange(1 << 16)
    return Fault(round(at, 2), kind, target, seconds, place, other if kind == "cut" else "")


def _drawn_of_writer(chance: random.Random, at: float, kind: str, targets: Targets) -> Fault:
    bounds = LONG_PAUSE_SECONDS if kind == "pause writer" else LONG_SECONDS
    target, seconds = chance.choice(targets.standbys), round(chance.uniform(*bounds), 2)
    other = {"part writer": REDIS, "starve writer": targets.source}.get(kind, "")
    return Fault(round(at, 2), kind, target, seconds, 0, other)


def touched(fault: Fault, targets: Targets) -> list[str]:
    """Return what a fault happens to, of what may have one fault at a time."""
    groups = [_group(name, targets) for name in (fault.target, fault.other) if name]
    return [*groups, HELPERS] if fault.kind == "part writer" else groups


def _group(name: str, targets: Targets) -> str:
    """Return what may have one fault at a time: a node, all of Redis, all Sentinels."""
    if name in targets.helpers:
        return HELPERS
    return name if name in targets.nodes else REDIS


def counts(faults: Sequence[Fault]) -> dict[str, int]:
    """Return how many faults of each kind there are."""
    return {
        kind: number
        for kind in (*KINDS, *WRITER_KINDS)
        if (number := sum(fault.kind == kind for fault in faults))
    }


def moments(faults: Sequence[Fault]) -> Iterator[tuple[float, Fault, bool]]:
    """Yield begins and ends in their order; the end of a fault has False."""
    both = [(fault.at, fault, True) for fault in faults]
    both += [(fault.at + fault.seconds, fault, False) for fault in faults]
    yield from sorted(both, key=lambda moment: moment[0])
