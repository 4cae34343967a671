"""Load that grows in steps: of more connections, or of a higher rate."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from wsnode.load.measured import Measurement
from wsnode.load.mix.window import LoadSettings

MAX_STEPS: Final = 1000
MAX_CONNECTIONS: Final = 20_000
KEPT_UP: Final = 0.95
"""Part of a rate that a node has to answer; with less it falls behind."""


class RampError(ValueError):
    """Error of a text that names no ramp; the message gives the reason."""


class Ramp(msgspec.Struct, frozen=True):
    """Load that grows in steps: the name of the growing quantity, `connections` or `rate` (requests a
    second), and its values in ascending order.
    """

    what: str
    values: list[float]

    @classmethod
    def parse(cls, text: str) -> "Ramp":
        """Return the ramp of `rate=1000,2000,5000` or `connections=16..256/5`, five even steps.

        Raises:
            RampError: The text has neither form, or its values are out of range.
        """
        what, _, steps = text.partition("=")
        if what not in ("connections", "rate"):
            raise RampError(f"{text!r} is neither connections=… nor rate=…")
        try:
            values = list(_values(steps))
        except ValueError:
            raise RampError(
                f"{steps!r} is neither values such as 10,20,50 nor steps such as 10..50/5"
            ) from None
        _check(what, values)
        return cls(what, [round(value) for value in values] if what == "connections" else values)

    def pattern(self, value: float, pattern: LoadSettings) -> LoadSettings:
        """Return `pattern` with a value of the ramp."""
        if self.what == "rate":
            return msgspec.structs.replace(pattern, rate=value)
        return msgspec.structs.replace(pattern, connections=round(value))

    def least_connections(self, pattern: LoadSettings) -> int:
        return min(self.pattern(value, pattern).connections for value in self.values)

    def most_connections(self, pattern: LoadSettings) -> int:
        return max(self.pattern(value, pattern).connections for value in self.values)


def _values(text: str) -> Iterator[float]:
    if ".." not in text:
        yield from map(float, text.split(","))
        return
    span, _, steps = text.partition("/")
    first, last = map(float, span.split(".."))
    count = int(steps)
    if not 2 <= count <= MAX_STEPS:
        raise ValueError(steps)
    yield from (first + (last - first) * place / (count - 1) for place in range(count))


def _check(what: str, values: Sequence[float]) -> None:
    if len(values) > MAX_STEPS:
        raise RampError(f"{len(values)} steps; {MAX_STEPS} at most")
    if not all(value >= 1 for value in values) or sorted(values) != values:
        raise RampError("the values of a ramp ascend from 1 or more")
    if what == "connections" and values[-1] > MAX_CONNECTIONS:
        raise RampError(f"{MAX_CONNECTIONS} connections at most")
    if values[-1] == float("inf"):
        raise RampError("the values of a ramp are finite")


class RampStep(msgspec.Struct, frozen=True):
    """Step of a ramp: the results with one value of the growing quantity. `failure` is the reason why the run
    was given up, None if it was not.
    """

    value: float
    measured: Measurement
    failure: str | None = None


def begins(steps: Sequence[RampStep], holds: Callable[[RampStep], bool]) -> float | None:
    """Return the value of the first step for which `holds` returns True, None if there is none."""
    return next((step.value for step in steps if holds(step)), None)


def is_over(limit_ms: float) -> Callable[[RampStep], bool]:
    """Return a function that compares a step's p99 with a limit, and returns True if it is over."""
    return lambda step: step.measured.all_latencies.percentile(0.99) > limit_ms


def has_errors(step: RampStep) -> bool:
    """Return True if a call of a step failed, or the step was given up."""
    return step.failure is not None or step.measured.errors.total() > 0


def falls_behind(step: RampStep) -> bool:
    """Return True if a node answered less than `KEPT_UP` of the step's rate."""
    return step.failure is None and step.measured.rate < KEPT_UP * step.value
