"""Which metrics and labels an expression of PromQL names; enough of the language for the files in deploy/."""

import re
from collections.abc import Iterator

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
