"""Rights of an API key, their use, and the errors of calls beyond them."""

import math
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any

import msgspec

from wsnode.jsonrpc.errors import (
    INVALID_REQUEST,
    LIMIT_EXCEEDED,
    METHOD_NOT_FOUND,
    RpcError,
    limit_exceeded,
)
from wsnode.server.access.rate_limit import CreditRate, KeyAccount, LocalRateLimiter, RateLimiter

REMEMBERED = 1000
SHOWN = 100


ContractAddress = Annotated[str, msgspec.Meta(pattern="^0x[0-9a-fA-F]{1,64}$")]


class KeyLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Limits of one API key; an absent member means no limit."""

    requests_per_second: float | None = None
    """Credits granted each second; a call costs one unless `credits` sets its cost."""
    burst: float | None = None
    """Maximum number of credits that can be saved; by default the credits of one second."""
    credits: Mapping[str, float] = {}
    """Cost of a call in credits, by method; other calls cost one."""
    connections: int | None = None
    """WebSocket connections that may be open at the same time."""
    subscriptions: int | None = None
    """Subscriptions that may be open at the same time, on all connections together."""
    methods: tuple[str, ...] | None = None
    """Methods that may be called; `*` matches any characters."""
    contracts: tuple[ContractAddress, ...] | None = None
    """Contracts that calls may name; calls that name no contract, such as those for a block, are not
    affected.
    """
    origins: tuple[str, ...] | None = None
    """Web pages that may use the key."""
    forwarding: bool = False
    """True if, during an outage, a partner's node is asked for a transaction that this node does not have."""


class RateError(RpcError):
    """Error of a call beyond the rate; `backoff_seconds` later the call would have passed."""

    def __init__(self, current: int, allowed: float, backoff_seconds: float) -> None:
        seconds = math.ceil(backoff_seconds * 1000) / 1000
        details = {"current_rps": current, "allowed_rps": allowed, "backoff_seconds": seconds}
        super().__init__(LIMIT_EXCEEDED, "request rate limit exceeded", details)
        self.backoff_seconds = backoff_seconds


class ApiKey:
    """API key in use, with the counts of all connections that use it."""

    def __init__(
        self,
        name: str,
        limits: KeyLimits,
        clock: Callable[[], float] = time.monotonic,
        rate_limiter: RateLimiter | None = None,
    ) -> None:
        """Make a key; `rate_limiter` counts its use, by default in this process alone."""
        self.name = name
        self.is_revoked = False
        self._rate_limiter: RateLimiter = rate_limiter or LocalRateLimiter()
        self._clock = clock
        self._allowed: dict[str, bool] = {}
        self._connections: dict[Hashable, Callable[[Any], None]] = {}
        self.change(limits)

    def change(self, limits: KeyLimits) -> None:
        self.limits = limits
        self._allowed.clear()
        named = limits.contracts
        self._contracts = None if named is None else frozenset(int(address, 16) for address in named)
        self._rate = _rate_of(limits)

    @property
    def account(self) -> KeyAccount | None:
        """Return the credits that several machines count together, None if only this machine counts them.

        Credits that never come back are counted by each machine alone: `settle` cannot carry them to another
        one.
        """
        if self._rate is None or not self._rate.per_second or self._rate_limiter.spent is None:
            return None
        return KeyAccount(self._rate_limiter, self._rate)

    def revoke(self) -> None:
        """Refuse all further calls, and close the open connections."""
        self.is_revoked = True
        for connection, end in tuple(self._connections.items()):
            end(connection)

    def admit(self, name: str) -> None:
        """Charge for one call of the method `name`, even if the method is unknown or not allowed.

        Raises:
            RpcError: The method is not allowed, the key was revoked, or its rate is exceeded (`RateError`).
        """
        self.charge(self.limits.credits.get(name, 1))
        if self.limits.methods is not None and not self._may_call(name):
            raise RpcError(METHOD_NOT_FOUND, f"the method {name[:SHOWN]} is not allowed for this API key")

    def charge(self, cost: float = 1) -> None:
        """Charge `cost` credits; the default is the cost of a text that is no request.

        Raises:
            RpcError: The key was revoked, or its rate is exceeded (`RateError`).
        """
        if self.is_revoked:
            raise RpcError(INVALID_REQUEST, "the API key was revoked")
        now = self._clock()
        self._rate_limiter.count_call(int(now))
        if self._rate is not None and (seconds := self._rate_limiter.charge(now, self._rate, cost)):
            raise RateError(self._rate_limiter.calls_in(int(now)), self._rate.per_second, seconds)

    def check_contracts(self, contracts: Iterable[int] | None) -> None:
        """Check that the key may name all of `contracts`; None stands for any contract.

        Raises:
            RpcError: A contract is not allowed for the key.
        """
        if self._contracts is None:
            return
        if contracts is None:
            raise RpcError(INVALID_REQUEST, "this API key must name the contracts")
        for contract in contracts:
            if contract not in self._contracts:
                raise RpcError(
                    INVALID_REQUEST, f"the contract 0x{contract:040x} is not allowed for this API key"
                )

    def take_connection(self, connection: Hashable, end: Callable[[Any], None]) -> None:
        """Count one more connection until it is given back.

        `end(connection)` is called if the key is revoked before that.

        Raises:
            RpcError: The limit is reached, perhaps by another process since `check_connections`.
        """
        allowed = self.limits.connections
        # The connection is counted before the check: otherwise two processes could both take the last place.
        self._rate_limiter.add_connections(1)
        if allowed is not None and self._rate_limiter.connections > allowed:
            self._rate_limiter.add_connections(-1)
            raise limit_exceeded("connection limit exceeded", {"connections": allowed})
        self._connections[connection] = end

    def give_back_connection(self, connection: Hashable) -> None:
        self._rate_limiter.add_connections(-1)
        del self._connections[connection]

    def check_connections(self) -> None:
        """Check that one more connection may be opened.

        Raises:
            RpcError: The limit is reached.
        """
        allowed = self.limits.connections
        if allowed is not None and self._rate_limiter.connections >= allowed:
            raise limit_exceeded("connection limit exceeded", {"connections": allowed})

    def take_subscription(self) -> None:
        """Count one more subscription, until it is given back.

        Raises:
            RpcError: The limit is reached.
        """
        allowed = self.limits.subscriptions
        # The connection is counted before the comparison: of two processes that take the last place at the
        # same moment, neither may overlook the other.
        self._rate_limiter.add_subscriptions(1)
        if allowed is not None and self._rate_limiter.subscriptions > allowed:
            self._rate_limiter.add_subscriptions(-1)
            raise limit_exceeded("subscription limit exceeded", {"subscriptions": allowed})

    def give_back_subscription(self) -> None:
        self._rate_limiter.add_subscriptions(-1)

    def usage(self) -> dict[str, Any]:
        """Return the current use of each limit: calls in a second, connections, subscriptions."""
        rate_limiter, second = self._rate_limiter, int(self._clock())
        return {
            "current_rps": max(rate_limiter.calls_in(second - 1), rate_limiter.calls_in(second)),
            "connections": rate_limiter.connections,
            "subscriptions": rate_limiter.subscriptions,
        }

    def _may_call(self, name: str) -> bool:
        if (allowed := self._allowed.get(name)) is None:
            allowed = any(fnmatchcase(name, pattern) for pattern in self.limits.methods or ())
            # Clients can send any number of method names, so only the first results are kept.
            if len(self._allowed) < REMEMBERED:
                self._allowed[name] = allowed
        return allowed


def _rate_of(limits: KeyLimits) -> CreditRate | None:
    if (per_second := limits.requests_per_second) is None:
        return None
    burst = max(per_second, 1.0) if limits.burst is None else limits.burst
    return CreditRate(per_second, burst, max((1.0, *limits.credits.values())))


class Admission:
    """Gate for the calls of one HTTP request, with the limits of its API key; it records if all of the calls
    exceeded the rate.
    """

    def __init__(self, api_key: ApiKey) -> None:
        self._api_key = api_key
        self._admitted = False
        self._backoff: float | None = None

    def admit(self, name: str) -> None:
        self._note(self._api_key.admit, name)

    def charge(self) -> None:
        """Charge for a text that is no request."""
        self._note(self._api_key.charge)

    def _note(self, charge: Callable[..., None], *arguments: str) -> None:
        try:
            charge(*arguments)
        except RateError as error:
            self._backoff = error.backoff_seconds
            raise
        self._admitted = True

    def check_contracts(self, contracts: Iterable[int] | None) -> None:
        self._api_key.check_contracts(contracts)

    @property
    def retry_after(self) -> int | None:
        """Return the seconds for `Retry-After`, an hour at most; None unless all calls were refused."""
        if self._admitted or self._backoff is None:
            return None
        return min(math.ceil(self._backoff), 3600) if math.isfinite(self._backoff) else 3600
