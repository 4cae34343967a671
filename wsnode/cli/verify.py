"""Command `wsnode verify`: case files against any node, and any node against another."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wsnode.cli.options import FILE, FiniteRange, checked_addresses
from wsnode.cli.terminal import one_line_failures, say

if TYPE_CHECKING:
    from wsnode.verify import differential
    from wsnode.verify.addresses import Addresses
    from wsnode.verify.results import CaseResult

Say = Callable[[str], None]


@click.command()
@click.argument("url", metavar="URL")
@click.argument(
    "folder",
    metavar="[FOLDER]",
    required=False,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option("--http", metavar="URL", help="The node's URL for HTTP.")
@click.option("--ws", "websocket", metavar="URL", help="The node's URL for WebSocket.")
@click.option("--messages", is_flag=True, help="Compare error messages too.")
@click.option("-k", "text", metavar="TEXT", default="", help="Run only cases with this text in their names.")
@click.option(
    "--timeout",
    type=FiniteRange(min=0.001),
    default=30.0,
    show_default=True,
    help="Seconds to wait for a reply.",
)
@click.option(
    "--against", metavar="URL", help="Compare with this node of the same chain, by random requests."
)
@click.option(
    "--calls", type=click.IntRange(min=1), default=2000, show_default=True, help="Number of random requests."
)
@click.option(
    "--seed",
    type=int,
    default=1,
    show_default=True,
    help="Seed of the random requests: the same seed makes the same requests.",
)
@click.option("--methods", metavar="METHOD,…", help="Request these methods only.")
@click.option(
    "--except",
    "passed_over",
    metavar="REGEX",
    help="Ignore differences of replies that match this expression.",
)
@click.option("--junit", "junit_file", type=FILE, metavar="FILE", help="Write the results as JUnit's XML.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object instead of lines.")
def verify(
    *,
    url: str,
    folder: Path | None,
    http: str | None,
    websocket: str | None,
    messages: bool,
    text: str,
    timeout: float,
    against: str | None,
    calls: int,
    seed: int,
    methods: str | None,
    passed_over: str | None,
    junit_file: Path | None,
    as_json: bool,
) -> None:
    """Compare any node with request/response case files, or with another node.

    The files (.io) of FOLDER are run over HTTP and over WebSocket; what differs is said. URL is http:// or
    ws://; the other is derived. With --against both nodes are asked the same random questions.
    """
    from wsnode.verify.differential import ComparisonPlan as AgainstTerms
    from wsnode.verify.results import ResultTally, document, junit

    if folder is None and against is None:
        raise click.UsageError("give a FOLDER of cases, or a node to compare with --against")
    addresses = checked_addresses(url, http, websocket)
    tell: Say = (lambda _line: None) if as_json else say
    results: list[CaseResult] = []
    with one_line_failures():
        if folder is not None:
            results += _cases(addresses, folder, text, messages=messages, timeout=timeout, tell=tell)
        if against is not None:
            terms = AgainstTerms(calls, seed, _methods(methods), messages, passed_over)
            results += _compared(url, against, terms, timeout, tell)
        if junit_file is not None:
            junit_file.write_text(junit(results))
    if as_json:
        import msgspec

        say(msgspec.json.encode(document(results)).decode())
    tally = ResultTally.of(results)
    tell(str(tally))
    if tally.failed:
        raise SystemExit(1)


def _cases(
    addresses: "Addresses", folder: Path, text: str, *, messages: bool, timeout: float, tell: Say
) -> "list[CaseResult]":
    import trio

    from wsnode.verify import case_runner
    from wsnode.verify.cases import read_cases

    cases = [case for case in read_cases(folder) if text in case.name]
    if not cases:
        raise click.UsageError(f"{folder} holds no .io files" + (f" with {text!r}" if text else ""))
    return trio.run(case_runner.verify, addresses, cases, case_runner.CaseTerms(messages, timeout), tell)


def _methods(given: str | None) -> tuple[str, ...]:
    from wsnode.verify.random_requests import METHODS

    methods = tuple(METHODS) if given is None else tuple(part.strip() for part in given.split(","))
    if unknown := sorted(set(methods) - METHODS.keys()):
        raise click.BadParameter(
            f"--against cannot ask about {', '.join(unknown)}; there are {', '.join(sorted(METHODS))}",
            param_hint="--methods",
        )
    return methods


def _compared(
    url: str, other: str, terms: "differential.ComparisonPlan", timeout: float, tell: Say
) -> "list[CaseResult]":
    from wsnode.verify.differential import asking, compare

    checked_addresses(other)
    with asking(url, timeout) as first, asking(other, timeout) as second:
        results = compare(first, second, terms)
    for result in results:
        for line in result.failures:
            tell(f"FAIL {result.name} {line}")
        if result.skipped is not None:
            tell(f"left out: {result.name}, {result.skipped}")
    asked = sum(result.asked for result in results if result.skipped is None)
    tell(f"{asked} questions of {len(results)} methods")
    return results
