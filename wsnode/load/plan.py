"""Plan of a measurement by a mix, the nodes under it, and its results."""

import msgspec

from wsnode.load.interference import HeadOfLineResult, SlowClientResult
from wsnode.load.measured import Measurement
from wsnode.load.mix.ramp import Ramp, RampStep
from wsnode.load.mix.samples import ChainSamples
from wsnode.load.mix.window import LoadSettings


class MixPlan(msgspec.Struct, frozen=True):
    """Settings of a load test: the share of each method in the requests, the pattern or the ramp of the load,
    and the client's processes.
    """

    mix: dict[str, float]
    pattern: LoadSettings
    seed: int = 1
    processes: int = 1
    """Number of the client's processes."""
    ramp: Ramp | None = None
    """Ramp of the load, None for one pattern; `pattern` has the other settings of each step."""
    limit_ms: float = 100.0
    """Limit of p99, in milliseconds, above which a step of a ramp is named."""
    intervals: int = 0
    """Number of equal intervals with results of their own."""
    watched: list[int] = []
    """Ids of the nodes' processes, as far as they are known and run here."""

    @property
    def most_connections(self) -> int:
        return self.pattern.connections if self.ramp is None else self.ramp.most_connections(self.pattern)


class MeasuredNode(msgspec.Struct, frozen=True):
    """Node under measurement, and samples of its chain."""

    url: str
    version: str
    samples: ChainSamples


class MixOutcome(msgspec.Struct, frozen=True):
    """Results of a load test of one node, or of two nodes to compare; each list has an item for each node.
    With a ramp `steps` has the results of each step.
    """

    nodes: list[MeasuredNode]
    plan: MixPlan
    mix: list[Measurement]
    """Results by node; for a ramp, all of its steps together."""
    head_of_line: list[HeadOfLineResult] = []
    slow_client: list[SlowClientResult] = []
    steps: list[list[RampStep]] = []
    """Steps of the ramp, by node."""

    @property
    def failure(self) -> str | None:
        """Return the reason why the mix ended before its time, None if it did not; a ramp may end early."""
        failures = (measured.failure for measured in self.mix if measured.failure and not self.steps)
        return next(failures, None)
