"""Limits and counts of subscriptions, by connection, by key, and in all."""

from wsnode.jsonrpc.client_quota import ClientId, ClientQuota
from wsnode.jsonrpc.errors import limit_exceeded
from wsnode.server.access.api_keys import ApiKey
from wsnode.server.shared import Shared


class ClientSubscriptionQuota:
    """Quota of subscriptions of one connection."""

    __slots__ = ("_api_key", "_network", "_shared", "client", "used")

    def __init__(
        self, shared: Shared, network: str, api_key: ApiKey | None, client: ClientId | None = None
    ) -> None:
        self._shared = shared
        self._network = network
        self._api_key = api_key
        self.client = ClientId() if client is None else client
        self.used = 0
        """Number of open subscriptions."""

    @property
    def live_calls(self) -> ClientQuota:
        """Return the bound on values watched by all subscriptions of the process."""
        return self._shared.live_calls

    def take(self, kind: str) -> None:
        """Count one more subscription of this kind.

        Raises:
            RpcError: The connection, the key or the process has as many as it may, or the node is stopping.
        """
        if self._shared.draining:
            raise limit_exceeded("the node is about to stop")
        limits, open_now = self._shared.limits, self._shared.counters.subscriptions
        self._leave_room_for_others()
        if self.used >= limits.subscriptions:
            raise limit_exceeded("subscription limit exceeded", {"subscriptions": limits.subscriptions})
        if not self._shared.subscriptions.admits(self.client):
            raise limit_exceeded("too many subscriptions")
        if self._api_key is not None:
            self._api_key.take_subscription()
        self._take_of_all(limits.all_subscriptions)
        self._shared.subscriptions.take(self.client)
        self.used += 1
        open_now[self._network, kind] += 1

    def _leave_room_for_others(self) -> None:
        """Reduce the bound of this process by the subscriptions open in other processes."""
        subscriptions, totals = self._shared.subscriptions, self._shared.totals
        if totals is not None:
            elsewhere = totals.subscriptions - subscriptions.used
            subscriptions.limit = self._shared.limits.all_subscriptions - elsewhere

    def _take_of_all(self, most: int) -> None:
        if (totals := self._shared.totals) is None:
            return
        totals.add_subscriptions(1)
        # Another process may have taken the last place since it was looked for.
        if totals.subscriptions > most:
            totals.add_subscriptions(-1)
            if self._api_key is not None:
                self._api_key.give_back_subscription()
            raise limit_exceeded("too many subscriptions")

    def charge(self, calls: int) -> None:
        """Charge the key for `calls` calls.

        Raises:
            RpcError: The key's rate is exceeded.
        """
        if self._api_key is not None:
            self._api_key.charge(calls)

    def give_back(self, kind: str) -> None:
        """Count one subscription of this kind less."""
        if self._api_key is not None:
            self._api_key.give_back_subscription()
        if self._shared.totals is not None:
            self._shared.totals.add_subscriptions(-1)
        self._shared.subscriptions.give_back(self.client)
        self.used -= 1
        self._shared.counters.subscriptions[self._network, kind] -= 1
