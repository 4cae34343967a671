"""Types that pass between a connection, the dispatcher and a handler."""

from collections.abc import Awaitable, Callable, Generator, Sequence
from inspect import GEN_CREATED, getgeneratorstate
from math import inf
from typing import Any, Protocol, TypeAlias

Request: TypeAlias = tuple[str, bytes, bytes]
"""A request's method, its parameters and its id; these are still the sender's bytes, empty when absent."""


class Rendered(bytes):
    """JSON text, copied into the reply as it is; plain `bytes` and `msgspec.Raw` are taken so too."""

    __slots__ = ()


class Pieces(list[bytes]):
    """JSON text in pieces. If large, nobody puts them together: for as long as both are held, the text would
    take twice its size.
    """

    __slots__ = ()


Reply: TypeAlias = bytes | Pieces
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


class InThread:
    """A step that runs `function(cancel)` in the worker pool, for at most `seconds`."""

    __slots__ = ("function", "is_short", "made", "most_bytes", "seconds")

    def __init__(self, function: Callable[[CancelToken], Any]) -> None:
        self.function = function
        self.seconds: float | None = None
        self.made = 0
        """Bytes of result that the call holds meanwhile; 0 if they are those that it has said last."""
        self.most_bytes = 0
        """Bytes of its result at most, if large: it waits until there is room for them."""
        self.is_short = False
        """Whether it always ends soon, so that it need not wait behind long work."""


class AsyncCall:
    """A step in which the server awaits `function()`, for at most `seconds`."""

    __slots__ = ("function", "made", "seconds")

    def __init__(self, function: Callable[[], Awaitable[Any]]) -> None:
        self.function = function
        self.seconds: float | None = None
        self.made = 0
        """Bytes of result that the call holds meanwhile; 0 if they are those that it has said last."""


class Fetching(AsyncCall):
    """A step in which the server awaits something that a call lacks; others may do so at the same time."""

    __slots__ = ()


Step: TypeAlias = InThread | AsyncCall | int | None
"""A step of a call: work for a thread, an awaitable, or the boundary between two slices.

A number is such a boundary too, and says how many bytes of result the call holds so far.
"""
Steps: TypeAlias = Generator[Step, Any, Any]
"""A handler that yields; it returns the result."""
Replying: TypeAlias = Generator[Step, Any, Reply | None]
"""Steps of a call that return its reply."""


Fetch: TypeAlias = Callable[[], Awaitable[None]]
"""Returns once what a call lacked is there; raises RpcError if that cannot be."""


class Shortage(Protocol):
    """What one call has lacked so far."""

    def fetch_for(self, error: Exception) -> Fetch | None:
        """Return what fetches that of which an error says that it is lacking, None for any other error.

        Raises:
            RpcError: The call may fetch no more.
        """

    def moves_on(self) -> bool:
        """Return whether the call, which cannot have what it lacks, is to be made at the present head.

        It is if the head that it saw is the head no more. There it may fetch as much again.
        """


class Supplies(Protocol):
    """What fetches for calls."""

    def is_lack(self, error: Exception) -> bool:
        """Return whether an error says that something is lacking."""

    async def together(self, fetches: Sequence[Fetch]) -> Sequence[Exception | None]:
        """Do them all at once, and return what each failed with, None for those that did not."""

    def begin(self, method: str, params: bytes, view: Any) -> Shortage:
        """Return the account of one call, whose parameters are JSON text, and which reads from `view`."""


class Arrivals(Protocol):
    """What calls name and is not here yet, because this node is behind others of its chain."""

    @property
    def is_behind(self) -> bool:
        """Return whether there is more elsewhere, as far as is known."""

    def parse(self, text: str) -> Any:
        """Return what a client writes that it has seen elsewhere: `NUMBER` or `NUMBER:HASH` of a block.

        Raises:
            ValueError: It is malformed; the message says what is wrong.
        """

    def has_come(self, awaited: Any) -> bool:
        """Return whether it is here."""

    async def wait(self, awaited: Sequence[Any], party: Any) -> None:
        """Return once all are here, or can be looked for.

        Raises:
            RpcError: One did not come in time, or too many wait.
        """

    def written(self, head: Any) -> str:
        """Return the head that a reply is computed on as `NUMBER:HASH`, the present one for None."""


class View(Protocol):
    """A context manager: what handlers of one turn read from."""

    def __enter__(self) -> Any:
        """Return the view or the caller for the handler."""
        ...

    def __exit__(self, *details: Any) -> Any:
        """Close it."""
        ...


class Channel(Protocol):
    """The connection of a call, if notifications can be sent on it."""

    def take_held(self) -> Sequence[Any]:
        """Return the subscriptions begun by the calls since the last time: they wait until the reply is
        posted.
        """
        ...

    def take_back(self, held: Sequence[Any]) -> None:
        """End the subscriptions that waited for a reply that does not name them."""
        ...


class Heading(Protocol):
    """What makes a call."""

    head: Any


class SlowCall:
    """A call that has not returned: resume it after each `step`, until `resume` says it has ended."""

    __slots__ = ("_steps", "deadline", "held", "made", "maker", "reply", "step", "view", "weight")

    def __init__(self, steps: Replying, deadline: float = inf, weight: int = 0) -> None:
        self._steps = steps
        self.deadline = deadline
        """Until when it may wait, on the session's clock: for a thread, or for its caller to read."""
        self.view: View | None = None
        """The view that the call reads from and closes at its end."""
        self.step: InThread | AsyncCall | None = None
        """The step to complete before it resumes."""
        self.made = 0
        """Bytes of result that it holds so far, as far as it says."""
        self.weight = weight
        """Bytes that it holds for its request beside the text: decoded parameters, or requests of a batch."""
        self.reply: Reply | None = None
        """Its reply, until `take_reply`."""
        self.held: list[Any] = []
        """The subscriptions that its calls began, held until the reply is posted."""
        self.maker: Heading | None = None
        """What makes the call, and has the head that it sees."""

    def resume(self, value: Any = None) -> bool:
        """Run to the next step with the result of the last one; True when `reply` is final."""
        return self._go(self._steps.send, value)

    def fail(self, error: Exception) -> bool:
        """Run to the next step with the last one's error; True when `reply` is final."""
        # Thrown into a generator that has not begun, the error would pass by what makes a reply of it.
        if getgeneratorstate(self._steps) == GEN_CREATED and self.resume():
            return True
        return self._go(self._steps.throw, error)

    def _go(self, go_on: Callable[[Any], Step], value: Any) -> bool:
        try:
            step = go_on(value)
        except StopIteration as stop:
            self.reply = stop.value
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
        self._steps.close()
        if (view := self.view) is not None:
            self.view = None
            view.__exit__(None, None, None)


Answer: TypeAlias = Reply | SlowCall | None
"""A reply at once, a reply later, or none ever (a notification)."""
