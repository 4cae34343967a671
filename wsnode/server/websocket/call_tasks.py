"""Slow calls of one connection, run beside its reader."""

from collections.abc import Callable
from typing import Any

import trio

from wsnode.jsonrpc.context import Session
from wsnode.jsonrpc.work import CallTask
from wsnode.server.scheduling.client_quota import ClientQuota
from wsnode.server.scheduling.executor import too_many_calls
from wsnode.server.shared import Shared
from wsnode.server.websocket.channel import SocketChannel
from wsnode.server.websocket.outbox import Outbox
from wsnode.server.websocket.sender import FrameSender

SMALL_BYTES = 8 * 1024
"""Bytes up to which a message is not counted, because the number of calls bounds such messages."""
ENDED_AT_ONCE = 8
"""Calls of a lost connection that are ended before other tasks run: each takes 0.1 ms."""
FEW = 2
"""Number of calls that are ended in one step, without a turn."""


class CallTasks:
    """Runner of a connection's slow calls, each as a task, which posts their replies."""

    __slots__ = (
        "_channel",
        "_client",
        "_idle",
        "_quota",
        "_scopes",
        "_sending",
        "_session",
        "_shared",
        "bytes",
    )

    def __init__(
        self,
        session: Session,
        sending: FrameSender,
        outbox: Outbox,
        channel: SocketChannel,
        shared: Shared,
        quota: ClientQuota,
    ) -> None:
        self._session = session
        self._sending = sending
        self._channel = channel
        self._shared = shared
        self._client = quota.client
        self._quota = quota
        quota.count_unread(outbox)
        self.bytes = 0
        """Bytes of the messages of calls in flight, small messages excluded."""
        # Most connections have no slow calls, and an empty set takes 150 bytes more than an empty dictionary.
        self._scopes: dict[trio.CancelScope, None] = {}
        self._idle: trio.Event | None = None

    @property
    def count(self) -> int:
        return len(self._scopes)

    @property
    def is_full(self) -> bool:
        """Return True if no further slow call may begin."""
        shared, limits = self._shared, self._shared.limits
        many = len(self._scopes) >= limits.calls_per_connection or self.bytes > limits.call_bytes
        return many or not shared.calls.admits(self._client)

    def begin_turn(self) -> None:
        """Begin a turn: slow calls of the session may begin, or are refused while too many are in flight."""
        self._session.refusal = too_many_calls() if self.is_full else None
        # Only the first slow call of a turn runs its first slice within the turn; later ones begin in the
        # executor.
        self._session.eager = True

    def begin(
        self, task: CallTask, start: Callable[..., Any], size: int, recount: Callable[[], None]
    ) -> None:
        """Run a call with `size` bytes of its message in a task started by `start`.

        `recount` is called whenever `bytes` has changed.
        """
        # The shield keeps the connection's nursery from cancelling all calls together: `end` cancels a few at
        # a time.
        scope = trio.CancelScope(shield=True)
        self._scopes[scope] = None
        size = size if size > SMALL_BYTES else 0
        self._count(size, recount)
        self._session.eager = False
        if self.is_full:
            self._session.refusal = too_many_calls()
        start(self._finish, task, scope, size, recount)

    def halt(self) -> None:
        """Stop all calls from adding to their results: they are to end unanswered."""
        self._quota.close()

    def cancel(self) -> None:
        """Cancel all calls; none of them gets a reply."""
        for scope in self._scopes:
            scope.cancel()

    async def end(self) -> None:
        """Cancel all calls, a few in each pass of the scheduler; may return before the calls have ended."""
        # The newest calls are cancelled first: the thread of a cancelled older call would be given to the
        # next call in the queue.
        scopes = list(reversed(self._scopes))
        if len(scopes) <= FEW:
            self.cancel()
            return
        with trio.CancelScope(shield=True):
            for first in range(0, len(scopes), ENDED_AT_ONCE):
                await self._shared.executor.turns.pass_through(self._client)
                for scope in scopes[first : first + ENDED_AT_ONCE]:
                    scope.cancel()

    async def wait_idle(self) -> None:
        while self._scopes:
            self._idle = trio.Event()
            await self._idle.wait()

    def _count(self, size: int, recount: Callable[[], None]) -> None:
        if size:
            self.bytes += size
            recount()

    async def _finish(
        self,
        task: CallTask,
        scope: trio.CancelScope,
        size: int,
        recount: Callable[[], None],
    ) -> None:
        reply = None
        try:
            with scope:
                reply = await self._shared.executor.finish(task, self._client, self._quota)
        finally:
            self._scopes.pop(scope, None)
            self._count(-size, recount)
            if not self._scopes:
                self._session.eager = True
                if self._idle is not None:
                    self._idle.set()
        if reply is not None:
            self._sending.post_reply(reply, task.pending_subscriptions)
        else:
            self._channel.release(task.pending_subscriptions)
