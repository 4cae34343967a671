"""State that calls of one turn share: their caller, one view, and the subscriptions they began.

A turn is a run of messages of one connection that the server answers without letting other tasks run;
`CallContext.end_turn` ends it and closes the view.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.session_limits import AdmissionGate
from wsnode.jsonrpc.work import CallBarrier, Notifier, View

OpenView = Callable[[Any], View]
"""Function that returns a view for a caller; the view is not entered yet."""


class CallContext:
    """Context of calls of one caller: its connection, its limits, and the view (a snapshot of the data).
    Calls share one view until `end_turn`.
    """

    __slots__ = (
        "caller",
        "channel",
        "eager",
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
    """True if calls of a batch share this context, and with it one view."""

    def __init__(
        self, open_view: OpenView, caller: Any, gate: AdmissionGate | None, reply_bytes: int
    ) -> None:
        self.open_view = open_view
        self.caller = caller
        self.gate = gate
        self.reply_bytes = reply_bytes
        self.shares_results = False
        """True if other contexts may use the results, as long as the store has the same version."""
        self.scope: View | None = None
        self.view: Any = None
        self.eager = True
        """True if a call in slices runs its first slice immediately."""
        self.refusal: RpcError | None = None
        """Error for slow calls while the connection has no room for more of them; None while it has."""
        self.channel: Notifier | None = None
        """Connection for methods that send notifications; None if only replies can be sent."""
        self.pending_subscriptions: list[Any] = []
        """Subscriptions that calls began, held until their replies are posted; a batch that has not ended
        holds its own.
        """
        self.moment: Any = None
        """Moment of the data in the last view of these calls; None if the view has none."""
        self.later: CallContext | None = None
        """Context of a call that left this turn, until its task is begun."""
        self.mark = 0.0
        """`perf_counter` at the end of the previous call of this turn, from which the next call's time is
        counted; 0 if unknown.
        """
        self.results: dict[str, bytes] = {}
        """Results that the engine may repeat for further calls in this turn, by method."""
        self.may_take_fast_path = False
        """True if the engine might answer the next call, since it could have answered the last one."""

    @property
    def may_wait(self) -> bool:
        """Return True if a call may leave the turn to wait, for example for data that has not arrived."""
        return self.refusal is None

    def hold_calls(self, barrier: CallBarrier) -> None:
        """Make further calls, if any follow, wait until `barrier` is over."""

    def apart(self) -> "CallContext":
        """End this turn, and return a context for one call that goes on outside it."""
        self.end_turn()
        self.later = later = SingleCallContext(self)
        return later

    def beside(self) -> "CallContext":
        """Return a context for one call with a view of its own; the call opens and closes that view."""
        own = SingleCallContext(self)
        own.pending_subscriptions = self.pending_subscriptions
        return own

    def open(self) -> Any:
        scope = self.open_view(self.caller)
        self.view = scope.__enter__()
        self.scope = scope
        self.moment = getattr(self.view, "moment", None)
        return self.view

    def try_open(self) -> Any:
        """Return the turn's view, opened if necessary; None if it cannot be opened."""
        try:
            return self.view or self.open()
        except Exception:
            # The call that needs a view says why there is none.
            return None

    def take_view(self) -> View | None:
        """Return this turn's view, None if none is open; the caller has to close it."""
        view, self.scope, self.view = self.scope, None, None
        self.forget_results()
        return view

    def forget_results(self) -> None:
        self.may_take_fast_path = False
        if self.results:
            self.results.clear()

    def end_turn(self) -> None:
        """End the turn: close the view that its calls shared, and drop their results."""
        self.mark = 0.0
        self.forget_results()
        if (scope := self.scope) is not None:
            self.scope = self.view = None
            scope.__exit__(None, None, None)


class Session(CallContext):
    """Context of all calls of one connection; each turn of its execution has a view (a snapshot of the data)
    of its own.
    """

    __slots__ = ("barrier",)

    def __init__(
        self, open_view: OpenView, caller: Any, gate: AdmissionGate | None, reply_bytes: int
    ) -> None:
        super().__init__(open_view, caller, gate, reply_bytes)
        self.barrier: CallBarrier | None = None
        """Barrier that further calls wait for, by request of the client; None if there is none."""

    def hold_calls(self, barrier: CallBarrier) -> None:
        self.barrier = barrier

    def is_held(self) -> bool:
        """Return True if further calls have to wait for the barrier."""
        if self.barrier is not None and self.barrier.is_over():
            self.barrier = None
        return self.barrier is not None

    def take_pending(self) -> list[Any]:
        """Return the subscriptions that calls began since the last call of this method."""
        pending_subscriptions, self.pending_subscriptions = self.pending_subscriptions, []
        return pending_subscriptions


class SingleCallContext(CallContext):
    """Context of one call that continues after its connection's turn has ended."""

    __slots__ = ()

    def __init__(self, parent: CallContext) -> None:
        super().__init__(parent.open_view, parent.caller, parent.gate, parent.reply_bytes)
        self.channel = parent.channel

    @property
    def may_wait(self) -> bool:
        """Return False: the call has waited already, or its event can be awaited only once."""
        return False

    def apart(self) -> CallContext:
        self.end_turn()
        return self


class MessageContext(SingleCallContext):
    """Context of a message with a single call, answered after its connection's turn has ended."""

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
        self._session.hold_calls(barrier)


class BatchContext(SingleCallContext):
    """Context of all calls of a batch; they share one view however long they take."""

    __slots__ = ()

    is_shared = True

    def __init__(self, parent: CallContext) -> None:
        super().__init__(parent)
        self.refusal, self.shares_results = parent.refusal, parent.shares_results

    def open(self) -> Any:
        """Open a view for the calls up to the first one that changes the data; pin it, so that it does not
        change.
        """
        view = super().open()
        if (pin := getattr(view, "pin", None)) is not None:
            pin()
        return view
