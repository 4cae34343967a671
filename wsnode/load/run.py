"""Whole measurement of a node, or of two in turns."""

import math
import time
from collections.abc import Callable, Sequence

import msgspec

from wsnode.load.interference import measure_head_of_line, measure_slow_client
from wsnode.load.machine import machine_time
from wsnode.load.measured import Measurement, ProcessUsage
from wsnode.load.mix.intervals import ProcessSampler, family
from wsnode.load.mix.processes import RunPattern, runners
from wsnode.load.mix.ramp import Ramp, RampStep
from wsnode.load.mix.requests import Request, make_requests
from wsnode.load.mix.samples import take_samples
from wsnode.load.mix.window import WARM_UP, LoadSettings
from wsnode.load.node_reader import NodeReader
from wsnode.load.plan import MeasuredNode, MixOutcome, MixPlan
from wsnode.load.progress import BEAT_SECONDS, ProgressMessage, RunProgress, Show
from wsnode.load.report import intervals as intervals_text
from wsnode.load.report import ramp as ramp_text
from wsnode.load.report import text
from wsnode.load.report.formatting import NAMES

REQUESTS = 4096
ROUNDS = 3
SLICES = 120
"""Maximum number of points over time."""
SHORTEST_SLICE = 0.25
SECTION_SECONDS = 2.0
"""Seconds for which cheap calls are measured, before and beside the load."""

Say = Callable[[str], None]


def look_at(url: str) -> MeasuredNode:
    """Return a node with samples of its chain.

    Raises:
        ConnectionError: The node does not answer.
        NodeRefusedError: The node does not answer `eth_blockNumber`.
    """
    with NodeReader(url) as asker:
        return MeasuredNode(url, asker.version(), take_samples(asker))


def measure(urls: Sequence[str], plan: MixPlan, say: Say, show: Show) -> MixOutcome:
    """Measure each node and say the results as they come; for two nodes also the ratios of both.

    Over HTTP the mix is all, since the other sections are about what one connection does to another; a ramp
    is all, too.

    The results are those until a node closes a connection, `show` asks for the end, or the time is over.

    Raises:
        ConnectionError: A node does not answer, or closed a connection of another section than the mix.
        UnknownProcessError: There is no process of an id in the plan.
    """
    for process in plan.watched:
        family(process)
    nodes = [look_at(url) for url in urls]
    for number, node in enumerate(nodes):
        say(text.title(NAMES[number], node.url, node.version, node.samples.head))
    if plan.ramp is not None:
        return measure_ramp(nodes, plan, plan.ramp, say, show)
    outcome = MixOutcome(nodes, plan, measure_mix(nodes, plan, say, show))
    if outcome.failure is None and not show("") and not any(node.url.startswith("http") for node in nodes):
        measure_interference(outcome, say)
    return outcome


def measure_interference(outcome: MixOutcome, say: Say) -> None:
    """Measure cheap calls beside heavy ones and a slow client; add the results to `outcome` and say them."""
    nodes, seconds = outcome.nodes, min(SECTION_SECONDS, outcome.plan.pattern.seconds)
    say(text.HEAD_OF_LINE)
    outcome.head_of_line.extend(measure_head_of_line(node.url, seconds) for node in nodes)
    text.say_all(say, text.head_of_line, outcome.head_of_line)
    for line in text.heavy_answers(outcome.head_of_line):
        say(line)
    say(text.SLOW_CLIENT)
    outcome.slow_client.extend(measure_slow_client(node.url, node.samples, seconds) for node in nodes)
    text.say_all(say, text.slow_client, outcome.slow_client)


def measure_mix(nodes: Sequence[MeasuredNode], plan: MixPlan, say: Say, show: Show) -> list[Measurement]:
    """Return the results of each node; several nodes share the time of the mix in turns."""
    rounds = ROUNDS if len(nodes) > 1 else 1
    turn = msgspec.structs.replace(plan.pattern, seconds=plan.pattern.seconds / rounds)
    slice_seconds = slices_of(turn.seconds * (1 - WARM_UP), SLICES // rounds, plan.intervals)
    measured = [Measurement(slice_seconds=slice_seconds) for _ in nodes]
    with runners(plan.processes) as run:
        turns = PatternRunner(run, nodes, plan, slice_seconds, show)
        for _ in range(rounds):
            for number, taken in enumerate(measured):
                if not turns.is_over:
                    taken.follow(turns.run(number, turn))
    say(text.mix_title(plan.pattern))
    for line in text.mix(measured):
        say(line)
    for line in intervals_text.lines(measured, plan.intervals):
        say(line)
    return measured


def measure_ramp(
    nodes: Sequence[MeasuredNode], plan: MixPlan, ramp: Ramp, say: Say, show: Show
) -> MixOutcome:
    """Return each step's results on each node in turns; one that closed connections gets no more steps."""
    steps: list[list[RampStep]] = [[] for _ in nodes]
    say(ramp_text.title(ramp, plan.pattern))
    slice_seconds = slices_of(plan.pattern.seconds * (1 - WARM_UP), max(1, SLICES // len(ramp.values)), 0)
    with runners(plan.processes) as run:
        turns = PatternRunner(run, nodes, plan, slice_seconds, show)
        for value in ramp.values:
            for number, taken in enumerate(steps):
                if not turns.is_stopped and (not taken or taken[-1].failure is None):
                    taken.append(turns.step(number, value, ramp.pattern(value, plan.pattern)))
                    say(ramp_text.line(ramp, taken[-1], number, len(nodes)))
    for line in ramp_text.limits(steps, ramp, plan.limit_ms):
        say(line)
    return MixOutcome(list(nodes), plan, [together(each, slice_seconds) for each in steps], steps=steps)


def together(steps: Sequence[RampStep], slice_seconds: float) -> Measurement:
    """Return the results of all steps as one measurement, one after another."""
    measured = Measurement(slice_seconds=slice_seconds)
    for step in steps:
        measured.follow(step.measured)
    return measured


class PatternRunner:
    """Runner of load patterns on the nodes of a plan, which shows the progress of each run."""

    def __init__(
        self, run: RunPattern, nodes: Sequence[MeasuredNode], plan: MixPlan, slice_seconds: float, show: Show
    ) -> None:
        self._run = run
        self._nodes = nodes
        self._requests = requests_for(nodes, plan)
        self._watched = plan.watched
        self._slice_seconds = slice_seconds
        self._show = show
        self.is_stopped = False
        """True if the user has asked for the end."""
        self.is_over = False
        """True if the user has asked for the end, or a node has stopped answering."""

    def step(self, number: int, value: float, pattern: LoadSettings) -> RampStep:
        try:
            measured = self.run(number, pattern)
        except ConnectionError as error:
            measured = Measurement(slice_seconds=self._slice_seconds, failure=str(error))
        return RampStep(value, measured, measured.failure)

    def run(self, number: int, pattern: LoadSettings) -> Measurement:
        """Return the results of a pattern on the node of that number.

        Raises:
            ConnectionError: A connection was refused.
        """
        hearing, before = self._hearing(number, pattern), machine_time()
        measured = self._run(
            self._nodes[number].url,
            self._requests[number],
            pattern,
            self._slice_seconds,
            hear=hearing.take,
        )
        hearing.end(measured.seconds)
        measured.machine = machine_time().part_since(before)
        measured.usage = hearing.usage
        self.is_stopped = self.is_stopped or hearing.is_stopped
        self.is_over = self.is_over or self.is_stopped or measured.failure is not None
        return measured

    def _hearing(self, number: int, pattern: LoadSettings) -> "RunMonitor":
        name = f"{NAMES[number]} " if len(self._nodes) > 1 else ""
        watch = ProcessSampler(self._watched[number]) if number < len(self._watched) else None
        return RunMonitor(RunProgress(name), self._show, watch, pattern.seconds * WARM_UP)


class RunMonitor:
    """Monitor of a run: it shows the progress messages of the client processes, and samples the node's
    processes as often.
    """

    def __init__(
        self, progress: RunProgress, show: Show, watch: ProcessSampler | None, warm_up: float
    ) -> None:
        self.usage: list[ProcessUsage] = []
        self._progress = progress
        self._show = show
        self._watch = watch
        self._warm_up = warm_up
        self._first: int | None = None
        self.is_stopped = False
        self._look(-warm_up)

    def take(self, beat: ProgressMessage) -> bool:
        """Record a message; return True if the run is to end. The first process's shows all."""
        self._progress.take(beat)
        self._first = self._first or beat.process
        if beat.process == self._first:
            self.is_stopped = self._show(self._progress.line())
            self._look(beat.at - self._warm_up)
        return self.is_stopped

    def end(self, at: float) -> None:
        """Take a last sample at the end of the run, unless a beat has just been taken."""
        if at - self._looked > BEAT_SECONDS / 2:
            self._look(at)

    def _look(self, at: float) -> None:
        self._looked = at
        usage = self._watch.sample(time.perf_counter(), at) if self._watch else None
        if usage is not None and at >= 0:
            self.usage.append(usage)


def slices_of(seconds: float, most: int, intervals: int) -> float:
    """Return the seconds of the equal slices of a turn.

    There are at most `most` slices of 0.25 s or more; with `intervals`, a multiple of their number.
    """
    count = max(1, min(most, int(seconds / SHORTEST_SLICE)))
    return seconds / (count if not intervals else intervals * math.ceil(count / intervals))


def requests_for(nodes: Sequence[MeasuredNode], plan: MixPlan) -> list[list[Request]]:
    """Return the requests for each node; nodes with equal chains get equal requests."""
    first = nodes[0].samples
    same = all(node.samples.last_hash == first.last_hash for node in nodes)
    return [make_requests(plan.mix, first if same else node.samples, REQUESTS, plan.seed) for node in nodes]
