"""The dashboard, the alerts and the page on operating name what nodes really tell."""

import json
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families
from websockets.sync.client import connect

from tests.cluster.redis_server import needs_redis, started_redis
from tests.deploy.expressions import RULES, grouped, metrics, panels, rules
from tests.node_process import PATIENCE, Node, post, started
from tests.sync.follow.beacon.static_beacon import static_beacon
from wsnode.server.metric_definitions import METRICS, definition_of

CHECKOUT = Path(__file__).parents[2]
TESTS = CHECKOUT / "deploy/prometheus/wsnode.tests.yml"
PAGE = CHECKOUT / "docs/reference/operating.md"
SELDOM = (
    *("wsnode_window_blocks", "wsnode_proof_rounds_total", "wsnode_carried_values_total"),
    *("wsnode_proofs_total", "wsnode_wrong_proofs_total", "wsnode_forked_history_total"),
    *("wsnode_payloads_total", "wsnode_forwarded_total"),
    *("wsnode_beacon_refused_total", "wsnode_beacon_url_slot"),
)
"""Metrics that none of the nodes below has.

They are of light folders, of nodes that prove, of forks, and of nodes that have asked for a payload or a
partner, or have met a broken rule.
"""
SUFFIX = re.compile(r"_(bucket|count|sum|created)$")
PROMTOOL = shutil.which("promtool")

needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="no `promtool` on the path")
pytestmark = [pytest.mark.slow, needs_redis]

Told = dict[str, set[str]]
"""The labels of each sample."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Return what nodes tell: one that follows, one that is driven, one with workers, a writer, a replica."""
    folder = tmp_path_factory.mktemp("nodes")
    with ExitStack() as stack:
        nodes = list(running(stack, folder))
        for node in nodes[:2]:
            use(node)
        found: Told = {}
        end = monotonic() + PATIENCE
        while lacking := expected() - {SUFFIX.sub("", name) for name in found}:
            assert monotonic() < end, lacking
            sleep(0.1)
            for node in nodes:
                found |= samples(node)
        return found


def expected() -> set[str]:
    """Return the metrics that the nodes have, once all have begun."""
    names = {each.name for each in METRICS.values()}
    return {name for name in names.difference(SELDOM) if not name.startswith("wsnode_starknet_")}


def running(stack: ExitStack, folder: Path) -> Iterator[Node]:
    upstream = stack.enter_context(started("demo", "--listen", "127.0.0.1:0", "--data", str(folder / "demo")))
    yield upstream
    genesis = str(folder / "demo/eth/genesis.json")
    follow = ("follow", "--open", "--listen", "127.0.0.1:0", "--genesis", genesis)
    yield stack.enter_context(
        started(*follow, "--data", str(folder / "follow"), "--upstream", upstream.socket_url)
    )
    beacon, checkpoint = stack.enter_context(static_beacon())
    proved = ("--beacon", beacon, "--checkpoint", checkpoint, "--old-checkpoint")
    yield stack.enter_context(
        started(*follow, "--data", str(folder / "proved"), "--upstream", upstream.socket_url, *proved)
    )
    (folder / "jwt").write_text(secrets.token_hex(32))
    engine = ("--engine", "127.0.0.1:0", "--jwt-secret", str(folder / "jwt"), "--genesis", genesis)
    yield stack.enter_context(
        started("serve", "--open", "--listen", "127.0.0.1:0", "--data", str(folder / "driven"), *engine)
    )
    workers = ("serve", "--open", "--listen", "127.0.0.1:0", "--workers", "2")
    yield stack.enter_context(started(*workers, "--data", str(folder / "demo")))
    journal = ("--journal", stack.enter_context(started_redis()).url)
    dev = ("dev", "--quiet", "--listen", "127.0.0.1:0", "--data", str(folder / "dev"))
    yield stack.enter_context(started(*dev, *journal))
    genesis = str(folder / "dev/eth/genesis.json")
    replica = ("replica", "--open", "--listen", "127.0.0.1:0", "--data", str(folder / "replica"))
    yield stack.enter_context(started(*replica, "--genesis", genesis, *journal))


def use(node: Node) -> None:
    """Leave something in each counter that has labels."""
    calls: list[tuple[str, list[Any]]] = [
        ("eth_blockNumber", []),
        ("eth_getBlockByNumber", []),
        ("eth_simulateV1", [{}]),
    ]
    for method, params in calls:
        post(node.http_url, json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    post(node.http_url.replace("/v3/", "/nowhere/"), "{}")
    with connect(node.bare(node.socket_url)) as connection:
        connection.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}')
        connection.recv()


def samples(node: Node) -> Told:
    """Return what a node tells; every kind of subscription that it had is among it, at 0."""
    with urlopen(node.bare(node.http_url) + "metrics", timeout=PATIENCE) as reply:
        families = text_string_to_metric_families(reply.read().decode())
    found: Told = {}
    for family in families:
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def test_the_files_are_read_as_they_are_written() -> None:
    assert len(rules()) == RULES.read_text().count("- alert:") > 15
    assert len(panels()) > 40
    assert dict(metrics('sum by (a) (rate(wsnode_x_total{b="c"}[5m])) / on (job) up{job="wsnode"}')) == {
        "wsnode_x_total": {"b"},
        "up": set(),
    }


@pytest.mark.parametrize("expression", sorted({*rules(), *panels()}))
def test_each_metric_and_label_of_an_expression_is_told(told: Told, expression: str) -> None:
    named = dict(metrics(expression))
    assert named
    lacking = {name: labels - told.get(name, set()) for name, labels in named.items()}
    # Prometheus itself tells whether a node is up.
    absent = named.keys() - told.keys() - {"up"}
    assert (absent, {name: labels for name, labels in lacking.items() if labels}) == (set(), {})
    known = set().union(*(told.get(name, set()) for name in named))
    assert grouped(expression) <= known


def test_nodes_have_the_metrics_that_are_declared(told: Told) -> None:
    found = {SUFFIX.sub("", name): labels - {"le"} for name, labels in told.items()}
    ours = {name: labels for name, labels in found.items() if not name.startswith("python_")}
    # Metrics without samples have no labels to compare.
    declared = {name: set(definition_of(name).labels) if labels else set() for name, labels in ours.items()}
    assert ours == declared
    assert ours.keys() & {each.name for each in METRICS.values()} == expected()


def test_the_page_names_every_alert() -> None:
    alerts = set(re.findall(r"- alert: (\w+)", RULES.read_text()))
    assert set(re.findall(r"`(Wsnode\w+)`", PAGE.read_text())) == alerts
    assert set(re.findall(r"alertname: (\w+)", TESTS.read_text())) == alerts


@needs_promtool
@pytest.mark.parametrize(
    "arguments", [("check", "rules", RULES), ("test", "rules", TESTS)], ids=["check", "test"]
)
def test_promtool_accepts_the_rules(arguments: tuple[str, str, Path]) -> None:
    assert PROMTOOL is not None
    done = subprocess.run([PROMTOOL, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
