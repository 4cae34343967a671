"""All attacks together beside honest clients: a line a minute, and what came of it in `outcome.json`.

    python -m tests.hostile.soak FOLDER SECONDS

Each class of attack, and each honest client, has an address of its own. In a network of its own (see
addresses.py) they are others' addresses for the node; elsewhere they are this machine's, which have no share.
"""

import os
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from bench.lib.attackers import attacking
from bench.lib.attacks import ATTACKS, Target
from bench.lib.nodes import allow_many_files
from tests.hostile.addresses import address, chosen_network
from tests.hostile.client import Report
from tests.hostile.honest import Group, honest
from tests.hostile.samples import FEW_VERSIONS, HEADING, MEBIBYTE, Sample, look, look_settled, row_of
from tests.hostile.source import Scene, Source, going_on, prepared
from tests.node_process import Node, started
from tests.vector_files import CHECKOUT
from wsnode.load.histogram import percentile

CLIENTS = 20
GROUPS = 2
MAX_CONNECTIONS = 10_000
"""Of the attack that only opens them; fewer where the limit of open files is low."""
FIRST_ATTACKER = 100
SAMPLE_SECONDS = 2.0
ROWS = 60
GRACE_SECONDS = 30.0
RAMP_SECONDS = 180.0
"""Until then attackers do not have all that they can get."""
SERVICE_RESTART = 1012
UNIT = CHECKOUT / "deploy/wsnode.service"
ROOM = 64 * MEBIBYTE
KEPT = 200 * MEBIBYTE
"""What may stay of the memory that an attack took. About 60 MiB are in use then: the rest is free, in pages
of which some bytes are used, and the next attack gets it."""


class Outcome(msgspec.Struct, frozen=True):
    """Everything that a soak is judged by."""

    before: Sample
    samples: Sequence[Sample]
    after: Sample
    failures: Sequence[str]
    """Of honest clients and of the source of blocks."""
    closes: Sequence[int | None]
    """The codes with which the node said goodbye to honest clients in the end."""
    calls: int
    status: int
    """The node's, in the end."""
    bugs: Sequence[str]
    """Lines of the node's log that begin a traceback."""

    def complaints(self) -> Iterator[str]:
        """Yield what should not have happened."""
        yield from self.failures
        yield from self.bugs
        if set(self.closes) != {SERVICE_RESTART} or self.status:
            yield f"the node ended with {self.status}, and its connections with {self.closes}"
        yield from self._growth()
        if not self.calls or self.after.versions is None or self.after.versions > FEW_VERSIONS:
            yield f"{self.calls} calls were made, and {self.after.versions} versions are open"
        if self.after.connections != self.before.connections:
            yield f"{self.after.connections} connections are open instead of {self.before.connections}"

    def _growth(self) -> Iterator[str]:
        sizes = [sample.anonymous for sample in self.samples if sample.seconds > RAMP_SECONDS]
        half = len(sizes) // 2
        first, last = max(sizes[:half], default=0), max(sizes[half:], default=0)
        if half and last > first + ROOM:
            yield f"memory grew from {first:,} bytes at most in the first half to {last:,} in the last"
        if (grown := self.after.anonymous - self.before.anonymous) > KEPT:
            yield f"{grown:,} bytes more than before are left in the end"


def soak(folder: Path, seconds: float) -> Outcome:
    """Run a node, honest clients and attackers for so long, and return what came of it."""
    allow_many_files()
    # Not earlier: `unshare`, which started this program, works in a single thread alone.
    os.environ.update(deployed_environment())
    command = ("dev", "--listen", "127.0.0.1:0", "--data", str(folder / "data"), "--log-level", "warning")
    with (folder / "node.log").open("w") as log, started(*command, stderr=log) as node:
        url = node.bare(node.socket_url)
        scene = prepared(url)
        with honest_groups(url, scene) as groups:
            before = look(node, 0.0)
            samples, source, last = under_attack(node, scene, seconds)
            compare(groups, last)
            after = look_settled(node, seconds, before, KEPT)
            status = stop(node)
            reports = [report for group in groups for report in group.reports()]
    print_reports(source, reports, last - scene.first + 1)
    print(f"before and after:\n{HEADING}\n{row_of([before])}\n{row_of([after])}", flush=True)
    failures = [f"{report.name}: {failure}" for report in reports for failure in report.failures]
    closes, calls = [report.close for report in reports], sum(len(report.waits) for report in reports)
    bugs = [line for line in (folder / "node.log").read_text().splitlines() if "Traceback" in line]
    return Outcome(before, samples, after, source.failures + failures, closes, calls, status, bugs)


def deployed_environment() -> dict[str, str]:
    """Return the variables that the service's unit sets."""
    lines = re.findall(r"^Environment=(.*)$", UNIT.read_text(), re.MULTILINE)
    assert lines
    return dict(assignment.split("=", 1) for line in lines for assignment in line.split())


@contextmanager
def honest_groups(url: str, scene: Scene) -> Iterator[Sequence[Group]]:
    """Run all honest clients."""
    network = chosen_network()
    sources = [(number, address(network, number)) for number in range(CLIENTS)]
    with ExitStack() as stack:
        groups = [stack.enter_context(honest(url, scene, sources[first::GROUPS])) for first in range(GROUPS)]
        for group in groups:
            group.wait_ready()
        yield groups


def under_attack(node: Node, scene: Scene, seconds: float) -> tuple[Sequence[Sample], Source, int]:
    """Return what was seen of the node during the attack, and the source of blocks with its last one."""
    url = node.bare(node.socket_url)
    with ExitStack() as stack:
        # Before there are threads: attackers are forked.
        attackers = {name: stack.enter_context(each) for name, each in attacks(url, seconds).items()}
        source = stack.enter_context(going_on(url, scene))
        samples = watch(node, attackers, seconds)
        print_attacks(attackers)
        return samples, source, source.end()


def attacks(url: str, seconds: float) -> dict[str, AbstractContextManager[Connection]]:
    """Return all attacks, none of them begun yet."""
    place, network = urlsplit(url), chosen_network()
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    target = Target(place.netloc, place.path or "/", min(MAX_CONNECTIONS, files // 2))
    names = [name for name in ATTACKS if name != "no attack"]
    return {
        name: attacking(url, ATTACKS[name](target), seconds, address(network, FIRST_ATTACKER + number))
        for number, name in enumerate(names)
    }


def watch(node: Node, attackers: Mapping[str, Connection], seconds: float) -> Sequence[Sample]:
    """Print a row now and then until the attack is over, and return what was seen."""
    print(HEADING, flush=True)
    samples, row = list[Sample](), list[Sample]()
    began, row_seconds = time.monotonic(), max(seconds / ROWS, 3 * SAMPLE_SECONDS)
    while (now := time.monotonic() - began) < seconds:
        row.append(look(node, now))
        if now - row[0].seconds >= row_seconds:
            print(row_of(row), flush=True)
            samples, row = samples + row, []
        time.sleep(SAMPLE_SECONDS)
    for attacker in attackers.values():
        attacker.poll(GRACE_SECONDS)
    return samples + row


def compare(groups: Sequence[Group], last: int) -> None:
    """Have all honest clients compare what they have with the chain up to block `last`."""
    for group in groups:
        group.end(last)
    for group in groups:
        group.wait_compared()


def stop(node: Node) -> int:
    """End a node, and return its exit status."""
    began = time.monotonic()
    status = node.stop()
    print(f"ended with {status} after {time.monotonic() - began:.1f} s")
    return status


def print_attacks(attackers: Mapping[str, Connection]) -> None:
    """Print what attackers did."""
    for name, attacker in attackers.items():
        # A failed client has written the reason to its standard error.
        outcome = attacker.recv() if attacker.poll() else None
        text = outcome and f"{outcome.megabytes:,.1f} MB, closed {outcome.closed:,}, open {outcome.open:,}"
        print(f"{name:>22}: {text or 'did not end'}", flush=True)


def print_reports(source: Source, reports: Sequence[Report], blocks: int) -> None:
    """Print the waiting times of honest clients, and the errors they got."""
    waits = sorted(wait for report in reports for wait in report.waits)
    p50, p99, longest = (percentile(waits, part) for part in (0.5, 0.99, 1))
    notices = sum((report.notices for report in reports), Counter[str]())
    resumed = sum(report.resumed for report in reports)
    print(f"{source.sent:,} transactions, {source.reorganisations:,} reorganisations, {blocks:,} blocks")
    print(f"{len(waits):,} calls: p50 {p50:.1f} ms, p99 {p99:.1f} ms, longest {longest:.1f} ms")
    print(f"{resumed:,} times on from a cursor; notices: {dict(notices)}")


if __name__ == "__main__":
    where = Path(sys.argv[1])
    (where / "outcome.json").write_bytes(msgspec.json.encode(soak(where, float(sys.argv[2]))))
