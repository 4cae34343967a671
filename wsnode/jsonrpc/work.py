"""Types that pass between a connection, the dispatcher and a handler."""

from collections.abc import Awaitable, Callable, Generator, Sequence
from inspect import GEN_CREATED, getgeneratorstate
from itertools import count
from math import inf
from typing import Any, Protocol, TypeAlias

Request: TypeAlias = tuple[str, bytes, bytes]
"""A request's method, its parameters and its id; these are still the sender's bytes, empty when absent."""


class RenderedJson(bytes):
    """JSON text, copied into the reply as it is; plain `bytes` and `msgspec.Raw` are taken so too."""

    __slots__ = ()


class ReplyChunks(list[bytes]):
    """JSON text in pieces. If large, nobody puts them together: for as long as both are held, the text would
    take twice its size.
    """

    __slots__ = ()


Reply: TypeAlias = bytes | ReplyChunks
"""The text of a reply, in pieces if it is large."""


def size_of(reply: Reply) -> int:
    """Return how many bytes a reply has."""
    return len(reply) if isinstance(reply, bytes) else sum(map(len, reply))


def pieces_of(reply: Reply) -> Sequence[bytes]:
    """Return a reply as pieces: one, unless it is in several."""
    return (reply,) if isinstance(reply, bytes) else reply


class CancelToken:
    """Signals a function in a worker thread that its result is no longer wanted."""

    __slots__ = ("_linked", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._linked: list[Callable[[], object]] = []

    def set(self) -> None:
        """Ask the function to end, once."""
        if not self.is_set:
            self.is_set = True
            for callback in self._linked:
                callback()

    def link(self, callback: Callable[[], object]) -> None:
        """Have `callback` run (in any thread, perhaps twice) as soon as this token is set."""
        self._linked.append(callback)
        if self.is_set:
            callback()


class RunInThread:
    """A step that runs `function(cancel)` in the worker pool, for at most `seconds`."""

    __slots__ = ("began", "begin_by", "function", "is_short", "made", "most_bytes", "seconds")

    def __init__(self, function: Callable[[CancelToken], Any]) -> None:
        self.function = function
        self.seconds: float | None = None
        self.begin_by: float | None = None
        """Until when it may wait for a thread, on the session's clock; None for as long as its call may."""
        self.began: float | None = None
        """When its function began, on that clock, once it has."""
        self.made = 0
        """Bytes of result that the call holds meanwhile; 0 if they are those that it has said last."""
        self.most_bytes = 0
        """Bytes of its result at most, if large: it waits until there is room for them."""
        self.is_short = False
        """Whether it always ends soon, so that it need not wait behind long work."""


class Await:
    """A step in which the server awaits `function()`, for at most `seconds`."""

    __slots__ = ("function", "is_shared", "made", "seconds")

    def __init__(self, function: Callable[[], Awaitable[Any]], *, is_shared: bool = False) -> None:
        """In a batch, further calls may begin before one that `is_shared` is over, and it is awaited with
        theirs.
        """
        self.function = function
        self.is_shared = is_shared
        self.seconds: float | None = None
        self.made = 0
        """Bytes of result that the call holds meanwhile; 0 if they are those that it has said last."""


class Gather(Await):
    """A step in which the server awaits several functions at once.

    Its value is a list of what each has failed with, None for those that did not.
    """

    __slots__ = ("functions",)

    def __init__(self, functions: Sequence[Callable[[], Awaitable[Any]]]) -> None:
        super().__init__(_gathered)
        self.functions = functions


async def _gathered() -> None:
    raise NotImplementedError("the executor awaits the functions")


Step: TypeAlias = RunInThread | Await | int | None
"""A step of a call: work for a thread, an awaitable, or the boundary between two slices.

A number is such a boundary too, and says how many bytes of result the call holds so far.
"""
Steps: TypeAlias = Generator[Step, Any, Any]
"""A handler that yields; it returns the result."""
Replying: TypeAlias = Generator[Step, Any, Reply | None]
"""Steps of a call that return its reply."""


class CallBarrier(Protocol):
    """What further calls of a conversation wait for."""

    def is_over(self) -> bool:
        """Return whether they need not wait any more."""

    async def wait(self, client: Any) -> None:
        """Return once that is so.

        Raises:
            RpcError: It was not so in time, or too many wait.
        """


class View(Protocol):
    """A context manager: what handlers of one turn read from."""

    def __enter__(self) -> Any:
        """Return the view or the caller for the handler."""
        ...

    def __exit__(self, *details: Any) -> Any:
        """Close it."""
        ...


class Notifier(Protocol):
    """The connection of a call, if notifications can be sent on it."""

    def take_pending(self) -> Sequence[Any]:
        """Return the subscriptions begun by the calls since the last time: they wait until the reply is
        posted.
        """
        ...

    def discard(self, pending_subscriptions: Sequence[Any]) -> None:
        """End the subscriptions that waited for a reply that does not name them."""
        ...


class CallMaker(Protocol):
    """What makes a call."""

    moment: Any


_ages = count()


def next_age() -> int:
    """Return the place of what begins now among all that takes turns."""
    return next(_ages)


class CallTask:
    """A call that has not returned: resume it after each `step`, until `resume` says it has ended."""

    __slots__ = (
        "age",
        "deadline",
        "made",
        "maker",
        "pending_subscriptions",
        "reply",
        "step",
        "steps",
        "view",
        "weight",
    )

    def __init__(self, steps: Replying, deadline: float = inf, weight: int = 0) -> None:
        self.steps = steps
        """What it does, up to its reply."""
        self.age = next_age()
        """Its place among all calls: of one client's the one that began first has its turns first."""
        self.deadline = deadline
        """Until when it may wait, on the session's clock: for a thread, or for its caller to read."""
        self.view: View | None = None
        """The view that the call reads from and closes at its end."""
        self.step: RunInThread | Await | None = None
        """The step to complete before it resumes."""
        self.made = 0
        """Bytes of result that it holds so far, as far as it says."""
        self.weight = weight
        """Bytes that it holds for its request beside the text: decoded parameters, or requests of a batch."""
        self.reply: Reply | None = None
        """Its reply, until `take_reply`."""
        self.pending_subscriptions: list[Any] = []
        """The subscriptions that its calls began, held until the reply is posted."""
        self.maker: CallMaker | None = None
        """What makes the call, and knows the moment that it sees."""

    def resume(self, value: Any = None) -> bool:
        """Run to the next step with the result of the last one; True when `reply` is final."""
        return self._go(self.steps.send, value)

    def fail(self, error: Exception) -> bool:
        """Run to the next step with the last one's error; True when `reply` is final."""
        # Thrown into a generator that has not begun, the error would pass by what makes a reply of it.
        if getgeneratorstate(self.steps) == GEN_CREATED and self.resume():
            return True
        return self._go(self.steps.throw, error)

    def _go(self, go_on: Callable[[Any], Step], value: Any) -> bool:
        try:
            step = go_on(value)
        except StopIteration as stop:
            self.step, self.reply = None, stop.value
            self.made = size_of(self.reply or b"")
            self.close()
            return True
        if isinstance(step, int):
            self.made, step = step, None
        elif step is not None and step.made:
            self.made = step.made
        self.step = step
        return False

    def take_reply(self) -> Reply | None:
        """Return the reply, which the call does not hold from now on: others may know it for long."""
        reply, self.reply = self.reply, None
        return reply

    def close(self) -> None:
        """End the call, if it has not ended, and close its view."""
        self.steps.close()
        if (view := self.view) is not None:
            self.view = None
            view.__exit__(None, None, None)


Answer: TypeAlias = Reply | CallTask | None
"""A reply at once, a reply later, or none ever (a notification)."""
