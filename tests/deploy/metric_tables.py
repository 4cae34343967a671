"""Tables of metrics in docs/reference/operating.md, from their declarations."""

from typing import Final

from tests.docs.generated.marks import TableWriter, markdown_table
from wsnode.server.metric_definitions import METRICS, MetricDefinition, NodePart


def table(part: str) -> str:
    """Return the table of the metrics of some nodes."""
    metrics = [each for each in METRICS.values() if each.part is NodePart(part)]
    return markdown_table(("metric", "labels", "meaning"), map(_row, metrics))


def _row(metric: MetricDefinition) -> tuple[str, str, str]:
    meaning = f"histogram of the {metric.meaning}" if metric.is_histogram else metric.meaning
    return f"`{metric.name}`", ", ".join(metric.labels), meaning


WRITER: Final = TableWriter("metrics", ["reference/operating.md"], table)
