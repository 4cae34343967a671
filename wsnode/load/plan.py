"""The plan of a measurement by a mix, the nodes under it, and its results."""

import msgspec

from wsnode.load.interference.head_of_line import HeadOfLineResult
from wsnode.load.interference.slow_client import SlowClientResult
from wsnode.load.measured import Measurement
from wsnode.load.mix.ramp import Ramp, RampStep
from wsnode.load.mix.samples import ChainSamples
from wsnode.load.mix.window import LoadPattern


class MixPlan(msgspec.Struct, frozen=True):
    """The plan of a measurement: methods, rates and durations."""

    mix: dict[str, float]
    pattern: LoadPattern
    seed: int = 1
    processes: int = 1
    """Of the client."""
    ramp: Ramp | None = None
    """What grows, if something does; then the pattern is that of each step, but for it."""
    limit_ms: float = 100.0
    """The p99 above which a step of a ramp is named."""
    intervals: int = 0
    """The number of equal times that have results of their own."""
    watched: list[int] = []
    """The ids of the nodes' processes, as far as they are known and run here."""

    @property
    def most_connections(self) -> int:
        """Return how many connections there are at once."""
        return self.pattern.connections if self.ramp is None else self.ramp.most_connections(self.pattern)


class MeasuredNode(msgspec.Struct, frozen=True):
    """A node under measurement, and what its chain holds."""

    url: str
    version: str
    samples: ChainSamples


class MixOutcome(msgspec.Struct, frozen=True):
    """What was measured of one node, or of each of two: a mix, or the steps of a ramp."""

    nodes: list[MeasuredNode]
    plan: MixPlan
    mix: list[Measurement]
    """Of a ramp, all of its steps together."""
    head_of_line: list[HeadOfLineResult] = []
    slow_client: list[SlowClientResult] = []
    steps: list[list[RampStep]] = []
    """By node."""

    @property
    def failure(self) -> str | None:
        """Return why the mix ended before its time; a ramp may."""
        failures = (measured.failure for measured in self.mix if measured.failure and not self.steps)
        return next(failures, None)
