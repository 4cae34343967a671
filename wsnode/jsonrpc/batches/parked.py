"""Calls of a batch that wait for what they lack: others of the batch begin meanwhile, and lack more."""

from collections.abc import Generator, Sequence
from functools import partial
from typing import Any

from wsnode.jsonrpc.work import AsyncCall, Fetching, Reply, Replying, Step, Supplies


class Running:
    """A call of a batch, run up to a step that is awaited, or to its reply."""

    __slots__ = ("_steps", "place", "reply", "request", "waits_for")

    def __init__(self, steps: Replying, place: int, request: Any) -> None:
        self._steps = steps
        self.place = place
        """Where its reply belongs."""
        self.request = request
        self.waits_for: AsyncCall | None = None
        self.reply: Reply | None = None
        """Its reply, once it waits for nothing."""

    @property
    def is_fetching(self) -> bool:
        """Return whether it waits for what it lacks."""
        return isinstance(self.waits_for, Fetching)

    def run(self, size: int, outcome: Any = None) -> Generator[Step, Any, None]:
        """Go on with what it has waited for, or an error; its results count beside `size` bytes."""
        made = 0
        while True:
            try:
                failed = isinstance(outcome, Exception)
                step = self._steps.throw(outcome) if failed else self._steps.send(outcome)
            except StopIteration as stop:
                self.waits_for, self.reply = None, stop.value
                return
            if step is None or isinstance(step, int):
                made = made if step is None else step
                step = size + made
            else:
                made = step.made or made
                step.made = size + made
            if isinstance(step, AsyncCall):
                self.waits_for = step
                return
            outcome = yield from attempt(step)

    def finish(self, size: int) -> Generator[Step, Any, Reply | None]:
        """Return its reply, whatever it waits for."""
        while self.waits_for is not None:
            yield from self.run(size, (yield from attempt(self.waits_for)))
        return self.reply

    def close(self) -> None:
        """End it without a reply."""
        self._steps.close()


def attempt(step: Step) -> Generator[Step, Any, Any]:
    """Return what a step comes to, be it an error."""
    try:
        return (yield step)
    except Exception as error:
        return error


def fetched(calls: Sequence[Running], supplies: Supplies, size: int) -> Generator[Step, Any, None]:
    """Have calls go on that lack something, once all of it has been fetched at the same time."""
    steps = [call.waits_for for call in calls if call.waits_for is not None]
    together = Fetching(partial(supplies.together, [step.function for step in steps]))
    bounds = [step.seconds for step in steps]
    together.seconds = None if None in bounds else max(each for each in bounds if each is not None)
    together.made = size
    outcomes = yield from attempt(together)
    if isinstance(outcomes, Exception):
        outcomes = [outcomes] * len(calls)
    for call, outcome in zip(calls, outcomes, strict=True):
        yield from call.run(size, outcome)
