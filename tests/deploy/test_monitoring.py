"""The dashboard, the alerts and the page on operating name what nodes really tell."""

import json
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from time import monotonic, sleep
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families
from websockets.sync.client import connect

from tests.cluster.redis_server import needs_redis, started_redis
from tests.deploy.expressions import grouped, metrics
from tests.node_process import PATIENCE, Node, post, started

CHECKOUT = Path(__file__).parents[2]
RULES = CHECKOUT / "deploy/prometheus/wsnode.rules.yml"
TESTS = CHECKOUT / "deploy/prometheus/wsnode.tests.yml"
DASHBOARD = CHECKOUT / "deploy/grafana/wsnode.json"
PAGE = CHECKOUT / "docs/operating.md"
NEEDED = ("wsnode_lag_blocks", "wsnode_upstream_head", "wsnode_engine_unstored", "wsnode_replica_lag_blocks")
"""The metrics of the nodes below that appear last."""
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
        while not found.keys() >= set(NEEDED):
            assert monotonic() < end, found.keys()
            sleep(0.1)
            for node in nodes:
                found |= samples(node)
        return found


def running(stack: ExitStack, folder: Path) -> Iterator[Node]:
    upstream = stack.enter_context(started("demo", "--listen", "127.0.0.1:0", "--data", str(folder / "demo")))
    yield upstream
    genesis = str(folder / "demo/eth/genesis.json")
    follow = ("follow", "--open", "--listen", "127.0.0.1:0", "--genesis", genesis)
    yield stack.enter_context(
        started(*follow, "--data", str(folder / "follow"), "--upstream", upstream.socket_url)
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
    for method in ("eth_blockNumber", "eth_getBlockByNumber"):
        post(node.http_url, json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": []}))
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


def rules() -> list[str]:
    """Return the expressions of the rules; the file is read as text, for no library of ours reads YAML."""
    lines = RULES.read_text().splitlines()
    found: list[str] = []
    for number, line in enumerate(lines):
        if (expression := line.strip().removeprefix("expr: ")) != line.strip():
            rest = lines[number + 1 :] if expression == ">-" else []
            inner = [each.strip() for each in rest]
            with suppress(StopIteration):
                end = next(place for place, each in enumerate(inner) if re.match(r"\w+:|- ", each))
                expression = " ".join(inner[:end])
            found.append(expression)
    return found


def panels() -> list[str]:
    dashboard = json.loads(DASHBOARD.read_text())
    return [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]


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


def test_the_page_names_every_metric_and_no_other(told: Told) -> None:
    named = set(re.findall(r"`((?:wsnode|process)_\w+)`", PAGE.read_text()))
    ignored = re.compile(r"_(bucket|count|sum|created)$")
    found = {ignored.sub("", name) for name in told if not name.startswith("python_")}
    # Only light folders, nodes that prove, and once a payload or a partner is asked.
    elsewhere = {"wsnode_window_blocks", "wsnode_proof_rounds_total"}
    seldom = {"wsnode_payloads_total", "wsnode_forwarded_total"}
    assert found - named == set()
    assert named - found - elsewhere - seldom == set()


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
