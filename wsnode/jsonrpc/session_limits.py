"""Bounds of a session: those of the server, and the checks of one caller's rights."""

from collections.abc import Iterable
from typing import Annotated, Protocol, TypeAlias

import msgspec

from wsnode.jsonrpc.errors import RpcError

# Values of limits. The upper ends exclude infinity and keep sums of limits within 64 bits.
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
"""A maximum number, at least one."""
CountOrZero: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
"""A maximum number, which may be zero."""
Bytes: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**48)]
"""Size in bytes, at least one."""
MessageBytes: TypeAlias = Annotated[int, msgspec.Meta(ge=1024, le=2**48)]
"""Size in bytes; large enough for the smallest request."""
Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0001, le=31_536_000.0)]
"""Time in seconds, a year at most."""
SecondsOrZero: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=31_536_000.0)]
"""Time in seconds, possibly zero."""


def check_count(count: int, most: int, items: str) -> None:
    """Check the number of a parameter's items, before any item is decoded.

    Raises:
        ValueError: The number exceeds `most`.
    """
    if count > most:
        raise ValueError(f"too many {items}: {count}, want at most {most}")


class SessionBounds(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of messages and calls that an operator can set; sizes in bytes, times in seconds."""

    batch_items: Count = 1000
    """Calls: one batch. Beyond it: one error -32600 `batch too large` for all."""
    batch_reply_bytes: MessageBytes = 25_000_000
    """Bytes: the reply to a batch. Beyond it: -32003 `response too large` for the call that crosses it and
    all later ones.
    """
    batch_seconds: Seconds = 60.0
    """Seconds: the time of a batch, and of a call without a limit of its own; waiting for a thread, or for
    its client to read, included. Beyond it: -32002 `request timed out` for each call that is left.
    """
    call_wait_seconds: Seconds = 30.0
    """Seconds: the wait of a call with a time limit of its own for its turns and for threads, beside that
    limit. Beyond it: -32005 `the server is busy: the call was not begun in time, try again`.
    """
    parameter_values: Count = 100_000
    """Values: JSON values in the parameters of one call, names of members among them. Beyond it: -32602 `the
    parameters have too many values, want at most 100000`.
    """
    reply_bytes: MessageBytes = 64 * 1024 * 1024
    """Bytes: the reply to one call. Beyond it: -32003 `response too large`."""
    slice_seconds: Seconds = 0.002
    """Seconds: quick calls of one connection in one turn; that of a batch ends after each MiB of replies too.
    Beyond it: the rest waits for the next turn.
    """
    slow_seconds: SecondsOrZero = 1.0
    """Seconds: the time of calls that are not logged. Beyond it: the call is logged, at most ten lines a
    second; the next line gives the number of skipped ones.
    """
    versions: Count = 1000
    """Versions: versions of a store that calls in flight read, one for each change since the first of them
    began. Beyond it: -32005 to one more slow call; `/readyz` says 503.
    """


class AdmissionGate(Protocol):
    """Check of a caller's right to make calls, which also charges the caller's rate; each method raises the
    error of a refusal. `ApiKey` and `Admission` implement it.
    """

    def admit(self, name: str) -> None:
        """Charge for a call of the method `name`, known or not.

        Raises:
            RpcError: The call is refused.
        """
        ...

    def charge(self) -> None:
        """Charge for a text that is no request, as for one call.

        Raises:
            RpcError: The caller's rate is exceeded.
        """
        ...

    def check_contracts(self, contracts: Iterable[int] | None) -> None:
        """Check the contracts that a call names; None stands for any contract.

        Raises:
            RpcError: A contract is not allowed.
        """
        ...


class ClosedGate:
    """Gate that refuses every call with `error`. An inner gate, if given, checks and charges the call first,
    and its error comes before `error`.
    """

    def __init__(self, inner: AdmissionGate | None, error: RpcError) -> None:
        self._inner = inner
        self._error = error

    def admit(self, name: str) -> None:
        """Raise the inner gate's error if it refuses the call, else `error`."""
        if self._inner is not None:
            self._inner.admit(name)
        raise self._error

    def charge(self) -> None:
        if self._inner is not None:
            self._inner.charge()

    def check_contracts(self, contracts: Iterable[int] | None) -> None:
        """Accept any contracts: no call gets past `admit`."""
