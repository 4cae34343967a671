"""docs/reference/operating.md, the alerts and the dashboard have the metrics that are declared."""

import re

import pytest

from tests.deploy.expressions import grouped, metrics, panels, rules
from tests.deploy.metric_tables import WRITER, table
from wsnode.server.metric_definitions import METRICS, NodePart, definition_of
from wsnode.server.observability.families import MAX_CHARACTERS


def test_the_page_has_the_declared_metrics() -> None:
    (page,) = (path.read_text() for path in WRITER.paths)
    assert page == WRITER.with_tables(page), "python -m tests.docs.generated"
    tables = "".join(table(part.value) for part in NodePart)
    assert {each.name for each in METRICS.values()} == set(re.findall(r"^\| `(\w+)`", tables, re.MULTILINE))
    for part in NodePart:
        assert table(part.value) in page


@pytest.mark.parametrize("expression", sorted({*rules(), *panels()}))
def test_alerts_and_the_dashboard_name_declared_metrics_and_labels(expression: str) -> None:
    named = {re.sub(r"_(bucket|count|sum)$", "", name): labels for name, labels in metrics(expression)}
    # Prometheus itself has the metric that says whether a node is up.
    declared = {name: {*definition_of(name).labels, "le"} for name in named if name != "up"}
    assert {name: labels - declared.get(name, set()) for name, labels in named.items() if labels} == {
        name: set() for name, labels in named.items() if labels
    }
    assert grouped(expression) <= {"le"}.union(*declared.values())


def test_a_meaning_is_short_and_plain() -> None:
    for metric in METRICS.values():
        assert len(metric.help) <= MAX_CHARACTERS
        assert metric.help.isprintable()
        assert not set("[]`") & set(metric.help)


def test_a_metric_that_is_not_declared_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        definition_of("wsnode_nothing_total")
