"""Run of a kind of `wsnode bench` on one node or two, and the printing of its results."""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from wsnode.cli.terminal import INTERRUPTED, PassingLine, one_line_failures, say

Plan = TypeVar("Plan")
Found = TypeVar("Found", bound="BenchResult")
PlanOf = TypeVar("PlanOf", contravariant=True)
FoundOf = TypeVar("FoundOf", contravariant=True)


class BenchResult(Protocol):
    """Result of a node."""

    @property
    def failure(self) -> str | None:
        """Return the reason why it ended before its time, None if it did not."""


class BenchReport(Protocol[FoundOf, PlanOf]):
    """Forms of the results of all nodes."""

    def lines(self, found: Sequence[FoundOf], plan: PlanOf, /) -> Iterator[str]: ...

    def document(self, found: Sequence[FoundOf], plan: PlanOf, /) -> dict[str, Any]: ...

    def page(self, found: Sequence[FoundOf], plan: PlanOf, /) -> str: ...


def run_kind(
    urls: Sequence[str],
    plan: Plan,
    measure: Callable[[str, Plan, Callable[[str], bool]], Found],
    report: BenchReport[Found, Plan],
    *,
    connections: int,
    as_json: bool,
    page_file: Path | None,
) -> None:
    """Measure each node, one after another, and print the results."""
    import msgspec

    from wsnode.load.descriptors import allow_connections

    with one_line_failures(), PassingLine(sys.stderr) as line:
        allow_connections(connections)
        found = list[Found]()
        for url in urls:
            if not found or not line.is_interrupted:
                found.append(measure(url, plan, line.show))
        for each in () if as_json else report.lines(found, plan):
            line.say(each)
        if page_file is not None:
            page_file.write_text(report.page(found, plan))
    if as_json:
        say(msgspec.json.encode(report.document(found, plan)).decode())
    end(line, next((each.failure for each in found if each.failure), None))


def end(line: PassingLine, failure: str | None) -> None:
    """Exit with status 1 after a failure and 130 after an interruption; return if there was neither."""
    if failure is not None:
        print(f"error: {failure}", file=sys.stderr)
        raise SystemExit(1)
    if line.is_interrupted:
        raise SystemExit(INTERRUPTED)
