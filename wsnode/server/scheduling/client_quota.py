"""Use of a process's resources by one client, and its right to more."""

from typing import Protocol

import trio

from wsnode.jsonrpc.errors import RpcError, limit_exceeded
from wsnode.jsonrpc.resource_quota import ClientId, ResourceQuota
from wsnode.jsonrpc.work import CallTask
from wsnode.server.scheduling.resources import Resources

# Connections without slow calls share these empty dictionaries to save memory.
_NONE: dict[CallTask, int] = {}
_NONE_REFUSED: dict[CallTask, None] = {}
_NONE_WAITING: dict[CallTask, trio.Event] = {}


class PendingReplies(Protocol):
    """Replies of one connection that wait for its client to read them."""

    @property
    def output_bytes(self) -> int: ...

    async def wait_room(self) -> None:
        """Wait until the client has read so much that it may be sent more."""
        ...


class KeyQuota(Protocol):
    """Limits of an API key, over all of its connections; `ApiKey` implements it."""

    def take_subscription(self) -> None:
        """Count one more subscription.

        Raises:
            RpcError: The key has as many as it may.
        """
        ...

    def give_back_subscription(self) -> None: ...

    def charge(self, credits: float) -> None:
        """Charge the key for calls.

        Raises:
            RpcError: The key's rate is exceeded.
        """
        ...


class ClientQuota:
    """Use of one connection: its subscriptions, its slow calls, and the bytes that these calls hold. Each is
    within the limits of the connection and of its key, and within the quota in this process (`Resources`) of
    its peer: its key or network address.
    """

    __slots__ = (
        "_api_key",
        "_calls",
        "_limit",
        "_network",
        "_refused",
        "_resources",
        "_unread",
        "_waiters",
        "client",
        "is_closed",
        "made",
        "used",
    )

    def __init__(
        self,
        resources: Resources,
        client: ClientId | None = None,
        *,
        network: str = "",
        api_key: KeyQuota | None = None,
        limit: int | None = None,
        unread: PendingReplies | None = None,
    ) -> None:
        """Make the quota of a connection of `client`, or of a new client.

        While the connection holds more than `limit` bytes, by default those of an outbox, only its oldest
        call with a partial result continues.
        """
        self.client = ClientId() if client is None else client
        self._resources = resources
        self._network = network
        self._api_key = api_key
        self.used = 0
        self._limit = resources.limits.outbox_bytes if limit is None else limit
        self._unread = unread
        self.is_closed = False
        """True once its calls are to end unanswered."""
        self.made = 0
        """Bytes of partial results held by its calls."""
        self._calls = _NONE
        """Bytes held by each call, in the order in which they began."""
        self._refused = _NONE_REFUSED
        """Calls that end with an error at their next turn."""
        self._waiters = _NONE_WAITING
        """Calls that wait for room. Only the first checks for room, the others sleep.

        Hundreds of checks at each change would block the event loop.
        """

    def count_unread(self, replies: PendingReplies) -> None:
        """Count also replies that wait to be read, before a call may add to its result."""
        self._unread = replies

    @property
    def live_calls(self) -> ResourceQuota:
        """Return the quota of values watched by all subscriptions of the process."""
        return self._resources.live_calls

    def take(self, kind: str) -> None:
        """Count one more subscription of this kind.

        Raises:
            RpcError: The connection, the key or the process has as many as it may, or the node is stopping.
        """
        resources = self._resources
        if resources.draining:
            raise limit_exceeded("the node is about to stop")
        limit = resources.limits.subscriptions
        if self.used >= limit:
            raise limit_exceeded("subscription limit exceeded", {"subscriptions": limit})
        if not resources.admits_subscription(self.client):
            raise limit_exceeded("too many subscriptions")
        if self._api_key is not None:
            self._api_key.take_subscription()
        if not resources.take_subscription(self.client, (self._network, kind)):
            if self._api_key is not None:
                self._api_key.give_back_subscription()
            raise limit_exceeded("too many subscriptions")
        self.used += 1

    def give_back(self, kind: str) -> None:
        if self._api_key is not None:
            self._api_key.give_back_subscription()
        self._resources.give_back_subscription(self.client, (self._network, kind))
        self.used -= 1

    def charge(self, calls: int) -> None:
        """Charge the key for `calls` calls.

        Raises:
            RpcError: The key's rate is exceeded.
        """
        if self._api_key is not None:
            self._api_key.charge(calls)

    def close(self) -> None:
        """Stop all calls from adding to their results: they are to end unanswered, without an error."""
        self.is_closed = True
        for call, made in self._calls.items():
            if call not in self._refused:
                self._refused[call] = None
                self._resources.waiting.refusable.add(self.client, -made)

    def begin(self, task: CallTask) -> None:
        if not self._calls:
            # Most connections never have a slow call, so dictionaries of their own are made at the first one.
            self._calls, self._refused, self._waiters = {}, {}, {}
        self._resources.waiting.owners[self] = None
        self._calls[task] = 0
        if self.is_closed:
            self._refused[task] = None
        self.note(task)

    def note(self, task: CallTask) -> None:
        """Update the bytes that a call holds."""
        if not (more := task.made - self._calls[task]):
            return
        self._calls[task] = task.made
        self.made += more
        self._resources.waiting.add_result(self.client, more)
        if task not in self._refused:
            self._resources.waiting.refusable.add(self.client, more)

    def end(self, task: CallTask) -> None:
        """Remove a call; its reply is posted next."""
        size = self._calls.pop(task)
        self.made -= size
        self._resources.waiting.add_result(self.client, -size)
        if task in self._refused:
            del self._refused[task]
        else:
            self._resources.waiting.refusable.add(self.client, -size)
        if not self._calls:
            del self._resources.waiting.owners[self]
            self._calls, self._refused, self._waiters = _NONE, _NONE_REFUSED, _NONE_WAITING

    async def wait_turn(self, task: CallTask) -> RpcError | None:
        """Wait until the call may add to its result; return the error of a refused call, None if it may."""
        if self._unread is not None:
            await self._unread.wait_room()
        if not self._is_settled(task):
            try:
                await self._wait_settled(task)
            finally:
                self._waiters.pop(task, None)
                self._wake(next(iter(self._waiters), None))
        if task not in self._refused:
            return None
        return limit_exceeded("too many bytes of replies are being made, try again")

    def _is_settled(self, task: CallTask) -> bool:
        return not self.is_closed and (task in self._refused or self.may_go_on(task))

    async def _wait_settled(self, task: CallTask) -> None:
        while not self._is_settled(task):
            if self.is_closed:
                await trio.sleep_forever()
            if not self._resources.waiting.allows(self.client):
                self._resources.waiting.shed()
            woken = self._waiters[task] = trio.Event()
            if next(iter(self._waiters)) is not task:
                await woken.wait()
            else:
                self._wake(self._first(task))
                await self._resources.waiting.wait_change()
            if self._unread is not None:
                await self._unread.wait_room()

    def _wake(self, call: CallTask | None) -> None:
        if call is not None and (waiter := self._waiters.get(call)) is not None:
            waiter.set()

    def refuse_largest(self) -> None:
        """Refuse the call of this connection that holds the most bytes."""
        if left := [call for call in self._calls if call not in self._refused]:
            largest = max(left, key=self._calls.__getitem__)
            self._refused[largest] = None
            self._resources.waiting.refusable.add(self.client, -self._calls[largest])
            self._wake(largest)

    @property
    def _kept(self) -> int:
        return self.made + (0 if self._unread is None else self._unread.output_bytes)

    def may_go_on(self, task: CallTask) -> bool:
        """Return True if the call may add to its result now."""
        if self.is_closed or not self._resources.waiting.allows(self.client):
            return False
        if self._kept <= self._limit:
            return True
        return self._first(task) is task

    def _first(self, task: CallTask) -> CallTask:
        """Return the oldest call that holds bytes, `task` if none does."""
        return next((call for call, made in self._calls.items() if made), task)
