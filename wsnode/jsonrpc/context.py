"""What the calls of one turn share: their caller, one view, and what they have begun."""

from collections.abc import Callable
from typing import Any, ClassVar

from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.session_limits import AdmissionGate
from wsnode.jsonrpc.work import CallBarrier, Notifier, View

OpenView = Callable[[Any], View]
"""Returns a view for a caller, which is not open yet."""


class CallContext:
    """The context of calls of one caller. Those between two `end_turn` share one view."""

    __slots__ = (
        "caller",
        "channel",
        "eager",
        "fast_path_hit",
        "gate",
        "later",
        "mark",
        "may_take_fast_path",
        "moment",
        "open_view",
        "pending_subscriptions",
        "refusal",
        "reply_bytes",
        "results",
        "scope",
        "shares_results",
        "view",
    )

    is_shared: ClassVar = False
    """Whether the calls of a batch share the turn: all of them have one view."""

    def __init__(
        self, open_view: OpenView, caller: Any, gate: AdmissionGate | None, reply_bytes: int
    ) -> None:
        """Begin for a `caller`, whose calls must pass `gate`, and have replies of `reply_bytes` at most."""
        self.open_view = open_view
        self.caller = caller
        self.gate = gate
        self.reply_bytes = reply_bytes
        self.shares_results = False
        """Whether results are kept for other contexts, and taken from them, while they are true."""
        self.scope: View | None = None
        self.view: Any = None
        self.eager = True
        """Whether a call in slices runs its first one at once."""
        self.refusal: RpcError | None = None
        """The error of slow calls while the connection has no room for more."""
        self.channel: Notifier | None = None
        """The channel for methods that send notifications."""
        self.pending_subscriptions: list[Any] = []
        """Subscriptions that calls began, held until their replies are posted; batches in flight hold their
        own."""
        self.moment: Any = None
        """The moment that the last view of these calls showed."""
        self.later: CallContext | None = None
        """The context of a call apart from this turn, until that is begun."""
        self.mark = 0.0
        """The end of the previous call in this turn: one reading of the clock for each call is enough."""
        self.results: dict[str, bytes] = {}
        """Results of this turn that further calls of their methods would have again."""
        self.may_take_fast_path = False
        """Whether the engine might answer the call that follows: it could have answered the last one."""
        self.fast_path_hit = False
        """Whether that was so at the end of the turn before."""

    @property
    def may_wait(self) -> bool:
        """Return whether a call may wait apart from the turn for what has yet to come."""
        return self.refusal is None

    def hold_calls(self, barrier: CallBarrier) -> None:
        """Have further calls wait until `barrier` is over, if any follow."""

    def apart(self) -> "CallContext":
        """Return the context of one call that goes on apart from this turn, which ends."""
        self.end_turn()
        self.later = later = SingleCallContext(self)
        return later

    def beside(self) -> "CallContext":
        """Return the context of one call with a view of its own, which it has yet to open and is to close."""
        own = SingleCallContext(self)
        own.pending_subscriptions = self.pending_subscriptions
        return own

    def open(self) -> Any:
        """Return a view, opened for the calls of this turn."""
        scope = self.open_view(self.caller)
        self.view = scope.__enter__()
        self.scope = scope
        self.moment = getattr(self.view, "moment", None)
        return self.view

    def try_open(self) -> Any:
        """Return the view of the turn, opened if it is not; None if there is none."""
        try:
            return self.view or self.open()
        except Exception:
            # The call that needs a view says why there is none.
            return None

    def take_view(self) -> View | None:
        """Return the view of this turn, which is the caller's from now on; the turn goes on without it."""
        view, self.scope, self.view = self.scope, None, None
        self.forget_results()
        return view

    def forget_results(self) -> None:
        """Drop what the engine might answer further calls with."""
        self.may_take_fast_path = False
        if self.results:
            self.results.clear()

    def end_turn(self) -> None:
        """Close the view that this turn's calls shared."""
        self.mark = 0.0
        self.fast_path_hit = self.may_take_fast_path
        self.forget_results()
        if (scope := self.scope) is not None:
            self.scope = self.view = None
            scope.__exit__(None, None, None)


class Session(CallContext):
    """One connection's conversation."""

    __slots__ = ("barrier",)

    def __init__(
        self, open_view: OpenView, caller: Any, gate: AdmissionGate | None, reply_bytes: int
    ) -> None:
        super().__init__(open_view, caller, gate, reply_bytes)
        self.barrier: CallBarrier | None = None
        """What further calls wait for, as the client has asked."""

    def hold_calls(self, barrier: CallBarrier) -> None:
        """Have further calls wait until `barrier` is over."""
        self.barrier = barrier

    def is_held(self) -> bool:
        """Return whether further calls have to wait."""
        if self.barrier is not None and self.barrier.is_over():
            self.barrier = None
        return self.barrier is not None

    def take_pending(self) -> list[Any]:
        """Return the subscriptions that wait for the replies given so far."""
        pending_subscriptions, self.pending_subscriptions = self.pending_subscriptions, []
        return pending_subscriptions


class SingleCallContext(CallContext):
    """The context of one call apart from its turn."""

    __slots__ = ()

    def __init__(self, parent: CallContext) -> None:
        super().__init__(parent.open_view, parent.caller, parent.gate, parent.reply_bytes)
        self.channel = parent.channel

    @property
    def may_wait(self) -> bool:
        """Return False: it has waited, or what it waits for can be told only once."""
        return False

    def apart(self) -> CallContext:
        """Return itself, with its view closed."""
        self.end_turn()
        return self


class MessageContext(SingleCallContext):
    """The context of one message's only call, which is answered apart from its turn."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self.shares_results = session.shares_results

    @property
    def may_wait(self) -> bool:
        """Return True: a message of its own delays no other call."""
        return True

    def hold_calls(self, barrier: CallBarrier) -> None:
        """Have further calls of the session wait until `barrier` is over."""
        self._session.hold_calls(barrier)


class BatchContext(SingleCallContext):
    """The context of all calls of a batch, which share one view however long they take."""

    __slots__ = ()

    is_shared = True

    def __init__(self, parent: CallContext) -> None:
        super().__init__(parent)
        self.refusal, self.shares_results = parent.refusal, parent.shares_results

    def open(self) -> Any:
        """Return a view, opened for the calls up to the first that changes what there is."""
        view = super().open()
        if (pin := getattr(view, "pin", None)) is not None:
            pin()
        return view
