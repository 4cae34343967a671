"""The rights of a key, their use, and the errors beyond them."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
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

REMEMBERED = 1000
SHOWN = 100


ContractAddress = Annotated[str, msgspec.Meta(pattern="^0x[0-9a-fA-F]{1,64}$")]


class KeyLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The limits of one key; an absent member means no limit."""

    requests_per_second: float | None = None
    """Credits that come back each second; a call costs one unless `credits` says more."""
    burst: float | None = None
    """Credits that can be saved up; as many as come back in a second if absent."""
    credits: Mapping[str, float] = {}
    """The cost of a method's calls in credits."""
    connections: int | None = None
    """WebSocket connections open at once."""
    subscriptions: int | None = None
    """Subscriptions open at once, on all connections together."""
    methods: tuple[str, ...] | None = None
    """The methods that may be called, with `*` for any ending."""
    contracts: tuple[ContractAddress, ...] | None = None
    """The contracts that calls may name; what names none, such as a block, is not affected."""
    origins: tuple[str, ...] | None = None
    """The web pages that may use the key."""
    forwarding: bool = False
    """Whether a partner is asked, in an outage, for a transaction that is missing."""


class RateError(RpcError):
    """A call beyond the rate; `backoff_seconds` later it would have passed."""

    def __init__(self, current: int, allowed: float, backoff_seconds: float) -> None:
        seconds = math.ceil(backoff_seconds * 1000) / 1000
        details = {"current_rps": current, "allowed_rps": allowed, "backoff_seconds": seconds}
        super().__init__(LIMIT_EXCEEDED, "request rate limit exceeded", details)
        self.backoff_seconds = backoff_seconds


class Grant:
    """One key in use, shared by all that is done with it."""

    def __init__(self, name: str, limits: KeyLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self.name = name
        self.is_revoked = False
        self.connections = self.subscriptions = 0
        self._clock = clock
        self._allowed: dict[str, bool] = {}
        self._second = self._count = self._previous = 0
        self._tokens, self._filled = math.inf, clock()
        self._on_revoke: set[Callable[[], None]] = set()
        self.change(limits)

    def change(self, limits: KeyLimits) -> None:
        """Let `limits` be in force from now on."""
        self.limits = limits
        self._allowed.clear()
        named = limits.contracts
        self._contracts = None if named is None else frozenset(int(address, 16) for address in named)
        self._tokens = min(self._tokens, self._burst)

    def revoke(self) -> None:
        """Refuse every further call, and end the open connections."""
        self.is_revoked = True
        for end in tuple(self._on_revoke):
            end()

    def admit(self, name: str) -> None:
        """Charge for one call of a method, be it unknown or not allowed.

        Raises:
            RpcError: The call may not be made, or not now (`RateError`).
        """
        if self.is_revoked:
            raise RpcError(INVALID_REQUEST, "the API key was revoked")
        now = self._clock()
        self._count_call(int(now))
        if self.limits.requests_per_second is not None:
            self._charge(now, self.limits.requests_per_second, self.limits.credits.get(name, 1))
        if self.limits.methods is not None and not self._may_call(name):
            raise RpcError(METHOD_NOT_FOUND, f"the method {name[:SHOWN]} is not allowed for this API key")

    def check_contracts(self, contracts: Iterable[int] | None) -> None:
        """Check that the key may name all of `contracts`; None stands for any contract.

        Raises:
            RpcError: It may not.
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

    @contextmanager
    def connection(self, end: Callable[[], None]) -> Iterator[None]:
        """Count a connection while it is open; `end` is called if the key is revoked meanwhile."""
        self.connections += 1
        self._on_revoke.add(end)
        try:
            yield
        finally:
            self.connections -= 1
            self._on_revoke.discard(end)

    def check_connections(self) -> None:
        """Check that one more connection may be opened.

        Raises:
            RpcError: It may not.
        """
        allowed = self.limits.connections
        if allowed is not None and self.connections >= allowed:
            raise limit_exceeded("connection limit exceeded", {"connections": allowed})

    def take_subscription(self) -> None:
        """Count one more subscription; the caller subtracts it at its end.

        Raises:
            RpcError: The limit is reached.
        """
        allowed = self.limits.subscriptions
        if allowed is not None and self.subscriptions >= allowed:
            raise limit_exceeded("subscription limit exceeded", {"subscriptions": allowed})
        self.subscriptions += 1

    def usage(self) -> dict[str, Any]:
        """Return the current use of each limit."""
        self._roll(int(self._clock()))
        return {
            "current_rps": max(self._previous, self._count),
            "connections": self.connections,
            "subscriptions": self.subscriptions,
        }

    @property
    def _burst(self) -> float:
        if self.limits.burst is not None:
            return self.limits.burst
        rate = self.limits.requests_per_second
        return math.inf if rate is None else max(rate, 1.0)

    def _may_call(self, name: str) -> bool:
        if (allowed := self._allowed.get(name)) is None:
            allowed = any(fnmatchcase(name, pattern) for pattern in self.limits.methods or ())
            # Clients can think of any number of names.
            if len(self._allowed) < REMEMBERED:
                self._allowed[name] = allowed
        return allowed

    def _charge(self, now: float, rate: float, cost: float) -> None:
        tokens = min(self._burst, self._tokens + (now - self._filled) * rate)
        # A call dearer than the whole burst waits for a full one, or it could never be made.
        needed = min(cost, self._burst)
        self._filled = now
        self._tokens = tokens if tokens < needed else tokens - cost
        if tokens < needed:
            raise RateError(self._count, rate, (needed - tokens) / rate if rate else math.inf)

    def _count_call(self, second: int) -> None:
        self._roll(second)
        self._count += 1

    def _roll(self, second: int) -> None:
        if second != self._second:
            self._previous = self._count if second == self._second + 1 else 0
            self._second, self._count = second, 0


class Admission:
    """Admits the calls of one HTTP request, and remembers whether all were beyond the rate."""

    def __init__(self, grant: Grant) -> None:
        self._grant = grant
        self._admitted = False
        self._backoff: float | None = None

    def admit(self, name: str) -> None:
        """Charge for one call, as `Grant.admit` does."""
        try:
            self._grant.admit(name)
        except RateError as error:
            self._backoff = error.backoff_seconds
            raise
        self._admitted = True

    def check_contracts(self, contracts: Iterable[int] | None) -> None:
        """Check that the key may name all of `contracts`."""
        self._grant.check_contracts(contracts)

    @property
    def retry_after(self) -> int | None:
        """Return the seconds to wait, if nothing of the request was admitted."""
        if self._admitted or self._backoff is None:
            return None
        return min(math.ceil(self._backoff), 3600) if math.isfinite(self._backoff) else 3600
