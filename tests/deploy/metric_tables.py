"""Tables of metrics in docs/reference/operating.md, written by `python -m tests.deploy.metric_tables`."""

import re

from tests.docs.pages import DOCS
from wsnode.server.metric_definitions import METRICS, MetricDefinition, NodePart

PAGE = DOCS / "reference/operating.md"
_TABLE = re.compile(r"(<!-- metrics: (\w+) -->\n)(?:\|.*\n)*")


def with_tables(page: str) -> str:
    """Return the page with a table behind each mark, of the metrics of the part that the mark names."""
    return _TABLE.sub(lambda mark: mark[1] + table(NodePart(mark[2])), page)


def table(part: NodePart) -> str:
    """Return the table of the metrics of some nodes."""
    head = "| metric | labels | meaning |\n|---|---|---|\n"
    return head + "".join(_row(each) for each in METRICS.values() if each.part is part)


def _row(metric: MetricDefinition) -> str:
    meaning = f"histogram of the {metric.meaning}" if metric.is_histogram else metric.meaning
    return f"| `{metric.name}` | {', '.join(metric.labels)} | {meaning} |\n"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text()))
