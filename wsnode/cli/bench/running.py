"""Options that the kinds of `wsnode bench` share, and the run of a kind on one node or two."""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click

from wsnode.cli.options import FILE, Command, checked_addresses
from wsnode.cli.terminal import INTERRUPTED, PassingLine, one_line_failures, say


class SectionOption(click.Option):
    """Option in a section of the help."""

    def __init__(self, *names: Any, section: str, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.section = section


class SectionCommand(click.Command):
    """Command whose help lists its options by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections in the order in which their options come."""
        sections = dict[str, list[tuple[str, str]]]()
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        for each in sorted(options, key=lambda each: not isinstance(each, SectionOption)):
            if (record := each.get_help_record(ctx)) is not None:
                sections.setdefault(getattr(each, "section", "Options"), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def option(section: str, *names: str, **settings: Any) -> Callable[[Command], Command]:
    """Return a decorator that adds an option to a section."""
    return click.option(*names, cls=SectionOption, section=section, **settings)


def connections_option(section: str, default: int, metavar: str = "N") -> Callable[[Command], Command]:
    """Return a decorator that adds `connections`, their number."""
    return option(
        section,
        "--connections",
        type=click.IntRange(1, 20_000),
        default=default,
        show_default=True,
        metavar=metavar,
        help="Number of connections.",
    )


def depth_option(section: str, help_text: str) -> Callable[[Command], Command]:
    """Return a decorator that adds `depth`, the number of requests in flight on each connection."""
    return option(
        section,
        "--depth",
        type=click.IntRange(1, 1024),
        default=4,
        show_default=True,
        metavar="N",
        help=help_text,
    )


def http_option(section: str, help_text: str) -> Callable[[Command], Command]:
    """Return a decorator that adds `over_http`, True to send requests over HTTP."""
    return option(section, "--http", "over_http", is_flag=True, help=help_text)


def results_options(command: Command) -> Command:
    """Add `against`, `as_json` and `page_file`, the options of the results."""
    for each in (
        option("Results", "--html", "page_file", type=FILE, metavar="FILE", help="Write a page with charts."),
        option("Results", "--json", "as_json", is_flag=True, help="Print a JSON object instead of lines."),
        option(
            "Results", "--against", metavar="URL", help="URL of a second node that is measured too, in turns."
        ),
    ):
        command = each(command)
    return command


def urls_of(url: str, against: str | None, *, over_http: bool = False) -> Sequence[str]:
    """Return the URLs of the nodes to measure, one or two."""
    addresses = [checked_addresses(each) for each in (url, against) if each is not None]
    return [each.http if over_http else each.websocket for each in addresses]


Plan = TypeVar("Plan")
Found = TypeVar("Found", bound="BenchResult")
PlanOf = TypeVar("PlanOf", contravariant=True)
FoundOf = TypeVar("FoundOf", contravariant=True)


class BenchResult(Protocol):
    """Result of the benchmark of one node, implemented by each kind of benchmark."""

    @property
    def failure(self) -> str | None:
        """Return the reason why it ended before its time, None if it did not."""


class BenchReport(Protocol[FoundOf, PlanOf]):
    """Report of one kind of benchmark on all nodes, in its three forms: lines for the terminal, a JSON
    document, and an HTML page with charts.
    """

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

    from wsnode.load.machine import allow_connections

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
