"""Quotas of resources of a process, so that no client can take all of one."""

from typing import Any

from wsnode.jsonrpc.errors import limit_exceeded

KEPT_BACK = 4
"""Divisor of a bound: one part in `KEPT_BACK` is reserved for clients that hold little."""
LITTLE = 16


class ClientId:
    """Identity of one connection, with its `peer`: the API key or network address whose quota the connection
    counts towards. `peer` is None for a connection from this machine.
    """

    __slots__ = ("_keyed", "peer")

    def __init__(self, peer: str | None = None) -> None:
        self.peer = peer
        """API key or network address; None for a connection from this machine, whose users cannot be
        distinguished.
        """
        self._keyed: dict[str, ClientId] | None = None

    def of(self, key: str) -> "ClientId":
        """Return this connection's identity under the API key `key`, which then is its peer."""
        if self._keyed is None:
            self._keyed = {}
        if (client := self._keyed.get(key)) is None:
            client = self._keyed[key] = ClientId(key)
        return client


def quota_key(client: Any) -> Any:
    """Return the holder that `client` counts for: its peer, or the client itself if it has no peer."""
    peer = getattr(client, "peer", None)
    return client if peer is None else peer


class ResourceQuota:
    """Limit on a sum over all connections, such as bytes or calls, with a fair share for each peer (API key
    or network address). One peer holds at most half. The last quarter is for peers, and for clients without a
    peer, with less than `little` each: so a newcomer finds room while others hold their maximum on any number
    of connections.
    """

    __slots__ = ("_held", "_little", "limit", "used")

    def __init__(self, limit: int, little: int = LITTLE) -> None:
        self.limit = limit
        self.used = 0
        self._little = little
        # A `Counter` deletes and finds keys in Python code, which would delay every slice and every reply.
        self._held = dict[Any, int]()
        """Count held, by holder."""

    def admits(self, client: Any, count: int = 1) -> bool:
        """Return True if `client` may hold `count` more."""
        # If the last of the `count` units is admitted, so are those before it: `used` is the use just before
        # the last one.
        used = self.used + count - 1
        # This function runs in each turn, and nearly always all clients together hold less than one client
        # may hold.
        if 2 * used < self.limit:
            return True
        if used >= self.limit:
            return False
        held = self._held.get(holder := quota_key(client), 0) + count - 1
        if holder is not client and held >= max(1, self.limit // 2):
            return False
        return used < self.limit - self.limit // KEPT_BACK or held < self._little

    def held_by(self, client: Any) -> int:
        """Return the count that the peer of `client` holds on all of its connections."""
        return self._held.get(quota_key(client), 0)

    @property
    def largest(self) -> Any:
        """Return the holder (`quota_key`) of the largest count; None if no client holds any."""
        return max(self._held, key=self._held.__getitem__, default=None)

    def take(self, client: Any, count: int = 1) -> None:
        """Count `count` more for `client`, even beyond its quota."""
        self.used += count
        holder = quota_key(client)
        self._held[holder] = self._held.get(holder, 0) + count

    def take_or_refuse(self, client: Any, message: str) -> None:
        """Count one more of `client`.

        Raises:
            RpcError: `client` may not hold one more (-32005 with `message`).
        """
        if not self.admits(client):
            raise limit_exceeded(message, {"limit": self.limit})
        self.take(client)

    def give_back(self, client: Any, count: int = 1) -> None:
        """Count `count` fewer for `client`."""
        self.used -= count
        holder = quota_key(client)
        if left := self._held.get(holder, 0) - count:
            self._held[holder] = left
        else:
            self._held.pop(holder, None)
