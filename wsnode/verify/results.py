"""What became of cases and questions: as JSON, and as JUnit's XML, which CI systems show."""

from collections.abc import Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import msgspec


class CaseResult(msgspec.Struct, frozen=True):
    """A case, or all questions of one method."""

    name: str
    group: str
    """Where it belongs: the case's folder, or "against"."""
    seconds: float
    failures: Sequence[str] = ()
    """Lines of what differs."""
    skipped: str | None = None
    """Why nothing was compared."""
    asked: int = 1
    """Requests that were compared; of a case it counts as one."""


class ResultTally(msgspec.Struct, frozen=True):
    """The numbers of results without a difference, of those with one, and of those not compared."""

    passed: int
    failed: int
    skipped: int = 0

    @classmethod
    def of(cls, results: Sequence[CaseResult]) -> "ResultTally":
        """Return the numbers of `results`."""
        skipped = sum(result.skipped is not None for result in results)
        failed = sum(bool(result.failures) for result in results)
        return cls(len(results) - skipped - failed, failed, skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed"


def document(results: Sequence[CaseResult]) -> dict[str, Any]:
    """Return results as a JSON object."""
    return {
        **msgspec.structs.asdict(ResultTally.of(results)),
        "results": [msgspec.to_builtins(result) for result in results],
    }


def junit(results: Sequence[CaseResult]) -> str:
    """Return results as a test suite in JUnit's form."""
    tally = ResultTally.of(results)
    seconds = sum(result.seconds for result in results)
    head = (
        f'<testsuite name="wsnode verify" tests="{len(results)}" failures="{tally.failed}" errors="0" '
        f'skipped="{tally.skipped}" time="{seconds:.3f}">'
    )
    cases = "\n".join(line for result in results for line in _case(result))
    suite = f"<testsuites>\n{head}\n{cases}\n</testsuite>\n</testsuites>\n"
    return f'<?xml version="1.0" encoding="utf-8"?>\n{suite}'


def _case(result: CaseResult) -> Iterator[str]:
    named = f"classname={quoteattr(result.group)} name={quoteattr(_printable(result.name))}"
    yield f'<testcase {named} time="{result.seconds:.3f}">'
    if result.skipped is not None:
        yield f"<skipped message={quoteattr(result.skipped)}/>"
    if result.failures:
        lines = [_printable(line) for line in result.failures]
        yield f"<failure message={quoteattr(lines[0])}>{escape(chr(10).join(lines))}</failure>"
    yield "</testcase>"


def _printable(text: str) -> str:
    """Return text without the characters that XML cannot hold."""
    return "".join(each if each in "\t\n" or each.isprintable() else "\ufffd" for each in text)
