"""Which metrics and labels an expression of PromQL names; enough of the language for the files in deploy/."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress

from tests.vector_files import CHECKOUT

RULES = CHECKOUT / "deploy/prometheus/wsnode.rules.yml"
DASHBOARD = CHECKOUT / "deploy/grafana/wsnode.json"

OWN = ("wsnode_", "process_", "up")
OF_PROMETHEUS = {"job", "instance"}
"""Labels that the scraping Prometheus adds."""
SELECTOR = re.compile(r"\b([a-zA-Z_:][\w:]*)\b\s*(?:\{([^}]*)\})?")
MATCHER = re.compile(r"(\w+)\s*(=~|!~|!=|=)\s*\"([^\"]*)\"")
GROUPING = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")


def metrics(expression: str) -> Iterator[tuple[str, set[str]]]:
    """Yield each metric with the labels of its selector."""
    plain = GROUPING.sub(" ", expression)
    for name, inner in SELECTOR.findall(plain):
        if name.startswith(OWN):
            yield name, {label for label, _, _ in MATCHER.findall(inner)} - OF_PROMETHEUS


def grouped(expression: str) -> set[str]:
    """Return the labels by which results are joined."""
    names = ",".join(GROUPING.findall(expression)).replace(" ", "").split(",")
    return {name for name in names if name} - OF_PROMETHEUS


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
