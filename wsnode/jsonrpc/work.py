"""Types that pass between a connection, the dispatcher and a handler."""

from collections.abc import Awaitable, Callable, Generator, Sequence
from inspect import GEN_CREATED, getgeneratorstate
from itertools import count
from math import inf
from typing import Any, Protocol, TypeAlias

Request: TypeAlias = tuple[str, bytes, bytes]
"""Request: its method, its parameters and its id; the last two are the sender's bytes, empty if absent."""

JsonText: TypeAlias = bytes
"""JSON text in UTF-8 of a whole value, such as a result, which is copied into the reply."""


class RenderedJson(bytes):
    """JSON text of a result, copied into the reply unchanged. A handler may also return plain `bytes` or
    `msgspec.Raw`: they are treated alike.
    """

    __slots__ = ()


class ReplyChunks(list[bytes]):
    """JSON text in pieces. Large pieces are never joined: pieces and text together would take twice the
    memory.
    """

    __slots__ = ()


Reply: TypeAlias = bytes | ReplyChunks
"""The text of a reply, in pieces if it is large."""


def size_of(reply: Reply) -> int:
    """Return the size of a reply in bytes."""
    return len(reply) if isinstance(reply, bytes) else sum(map(len, reply))


def pieces_of(reply: Reply) -> Sequence[bytes]:
    """Return the pieces of a reply; a text is one piece."""
    return (reply,) if isinstance(reply, bytes) else reply


class CancelToken:
    """Signal to a function in a worker thread that its result is no longer wanted."""

    __slots__ = ("_linked", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._linked: list[Callable[[], object]] = []

    def set(self) -> None:
        """Ask the function to end; has an effect once."""
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
    """Step of a slow call: the server runs `function(cancel)` in a worker thread, and resumes the call with
    the result. The call fails if the function takes more than `seconds`, counted from the time when a thread
    is free; None stands for no bound. `cancel` is set when the result is not wanted any more; the function
    then ends soon, since the server waits for it.
    """

    __slots__ = ("began", "begin_by", "function", "is_short", "made", "most_bytes", "seconds")

    def __init__(self, function: Callable[[CancelToken], Any]) -> None:
        self.function = function
        self.seconds: float | None = None
        self.begin_by: float | None = None
        """Time on the session's clock until which the step may wait for a thread; None for as long as its
        call may.
        """
        self.began: float | None = None
        """Start of its function on that clock; None before it has started."""
        self.made = 0
        """Bytes of result that the call holds meanwhile; 0 if unchanged since the call last reported them."""
        self.most_bytes = 0
        """Maximum bytes of its result, if large; the step waits until response memory has room for them."""
        self.is_short = False
        """True if the function always ends soon, so that it need not wait behind long work."""


class Await:
    """Step of a slow call: the server awaits `function()`, for at most `seconds`, and resumes the call with
    the result.
    """

    __slots__ = ("function", "is_shared", "made", "seconds")

    def __init__(self, function: Callable[[], Awaitable[Any]], *, is_shared: bool = False) -> None:
        """Make a step of `function`.

        With `is_shared`, further calls of a batch may begin before this step is over, and their shared steps
        are awaited together with it.
        """
        self.function = function
        self.is_shared = is_shared
        self.seconds: float | None = None
        self.made = 0
        """Bytes of result that the call holds meanwhile; 0 if unchanged since the call last reported them."""


class Gather(Await):
    """Step of a slow call: the server awaits several functions concurrently, and resumes the call with a
    list. It has the exception of each function, None for those that succeeded.
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
"""Handler that yields steps; it returns the result."""
Replying: TypeAlias = Generator[Step, Any, Reply | None]
"""Steps of a call that returns its reply, None if none is sent."""


class CallBarrier(Protocol):
    """Condition for which further calls of a session wait before they begin."""

    def is_over(self) -> bool:
        """Return True if calls need not wait any more."""

    async def wait(self, client: Any) -> None:
        """Wait until the barrier is over.

        Raises:
            RpcError: The condition was not met in time, or too many calls wait.
        """


class View(Protocol):
    """Context manager that keeps data readable for the handlers of one turn: a run of messages answered
    without a break for other tasks. Entering it returns the object for the handlers' reads.
    """

    def __enter__(self) -> Any: ...

    def __exit__(self, *details: Any) -> Any: ...


class Notifier(Protocol):
    """Connection of a call, if it can carry notifications: it holds the subscriptions that calls have begun
    until their ids are in a reply. `SocketChannel` implements it.
    """

    def take_pending(self) -> Sequence[Any]:
        """Return the subscriptions that calls began since the last call of this method."""
        ...

    def discard(self, pending_subscriptions: Sequence[Any]) -> None:
        """End subscriptions of which no client learns: their ids are in no reply."""
        ...


class CallMaker(Protocol):
    """Context in which a call was made; `moment` identifies the version of the data in its last view."""

    moment: Any


_ages = count()


def next_age() -> int:
    """Return the next number in the order of tasks that take turns; a smaller one is older."""
    return next(_ages)


class CallTask:
    """Slow call in progress, as a sequence of steps: the server carries out each `step` and passes its result
    to `resume`, until `resume` returns True and `reply` is final.
    """

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
        """Steps of the call, up to its reply."""
        self.age = next_age()
        """Place in the order of all calls; of one client's calls the oldest has its turns first."""
        self.deadline = deadline
        """Time on the session's clock until which it may wait: for a thread, or for its caller to read."""
        self.view: View | None = None
        """View that the call reads, closed at its end."""
        self.step: RunInThread | Await | None = None
        """Step to complete before the call is resumed; None at the boundary of a slice."""
        self.made = 0
        """Bytes of result that the call holds so far, as it last reported."""
        self.weight = weight
        """Bytes held for its request beside the text: decoded parameters, or the requests of a batch."""
        self.reply: Reply | None = None
        """Reply, until `take_reply`."""
        self.pending_subscriptions: list[Any] = []
        """Subscriptions that its calls began, held until the reply is posted."""
        self.maker: CallMaker | None = None
        """Context that made the call, with the moment of its view; None before the call is begun."""

    def resume(self, value: Any = None) -> bool:
        """Run to the next step, with the result of the last one; return True once `reply` is final."""
        return self._go(self.steps.send, value)

    def fail(self, error: Exception) -> bool:
        """Run to the next step, with an error in place of the last one's result; return True once `reply` is
        final.
        """
        # An error thrown into a generator that has not begun would not become a reply, so the call first runs
        # to its first step.
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
        """Return the reply, None for a notification, and drop it: others may keep the task for long."""
        reply, self.reply = self.reply, None
        return reply

    def close(self) -> None:
        """End the call and close its view; has an effect once."""
        self.steps.close()
        if (view := self.view) is not None:
            self.view = None
            view.__exit__(None, None, None)


Answer: TypeAlias = Reply | CallTask | None
"""Immediate reply, task of a later reply, or None for a notification."""
