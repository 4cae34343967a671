"""Results of cases and questions: as JSON, and as JUnit's XML, which CI systems show."""

from collections.abc import Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import msgspec


class CaseResult(msgspec.Struct, frozen=True):
    """Result of one conversation, or of all random requests of one method."""

    name: str
    group: str
    """Group of the result: the case's folder, or "against"."""
    seconds: float
    failures: Sequence[str] = ()
    """Lines about differences."""
    skipped: str | None = None
    """Reason why nothing was compared, None if something was."""
    asked: int = 1
    """Number of compared requests; a case counts as one."""


class ResultTally(msgspec.Struct, frozen=True):
    """Number of results without a difference, with one, and without a comparison."""

    passed: int
    failed: int
    skipped: int = 0

    @classmethod
    def of(cls, results: Sequence[CaseResult]) -> "ResultTally":
        skipped = sum(result.skipped is not None for result in results)
        failed = sum(bool(result.failures) for result in results)
        return cls(len(results) - skipped - failed, failed, skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed"


def document(results: Sequence[CaseResult]) -> dict[str, Any]:
    """Return a JSON object: the numbers `passed`, `failed` and `skipped`, and a list `results`."""
    return {
        **msgspec.structs.asdict(ResultTally.of(results)),
        "results": [msgspec.to_builtins(result) for result in results],
    }


def junit(results: Sequence[CaseResult]) -> str:
    """Return results as a test suite in JUnit's XML."""
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
    """Return text with U+FFFD in place of characters that XML cannot hold."""
    return "".join(each if each in "\t\n" or each.isprintable() else "\ufffd" for each in text)
