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
    """Calls in one batch; a batch with more gets -32600."""
    batch_reply_bytes: MessageBytes = 25_000_000
    """Bytes of the reply to one batch; the call that exceeds them and all later ones get -32003."""
    batch_seconds: Seconds = 60.0
    """Seconds for one batch; calls that are not answered within them get -32002."""
    call_wait_seconds: Seconds = 30.0
    """Seconds that a call with a time limit of its own may wait for turns and threads; then it gets -32005.
    """
    parameter_values: Count = 100_000
    """JSON values in the parameters of one call, names of members included; more get -32602."""
    reply_bytes: MessageBytes = 64 * 1024 * 1024
    """Bytes of the reply to one call; a larger reply becomes -32003."""
    slice_seconds: Seconds = 0.002
    """Seconds that one connection's quick calls may run before other tasks do."""
    slow_seconds: SecondsOrZero = 1.0
    """Seconds above which a call is logged."""
    versions: Count = 1000
    """Versions of a store that calls in flight read at the same time; a call for one more gets -32005."""


class AdmissionGate(Protocol):
    """Check of a caller's right to make calls."""

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
    """Gate that refuses all calls, after the checks of an inner gate."""

    def __init__(self, inner: AdmissionGate | None, error: RpcError) -> None:
        self._inner = inner
        self._error = error

    def admit(self, name: str) -> None:
        """Refuse the call: with the inner gate's error if it has one, else with `error`.

        Raises:
            RpcError: Always.
        """
        if self._inner is not None:
            self._inner.admit(name)
        raise self._error

    def charge(self) -> None:
        """Charge for a text that is no request, as the inner gate does."""
        if self._inner is not None:
            self._inner.charge()

    def check_contracts(self, contracts: Iterable[int] | None) -> None:
        """Accept any contracts: no call gets past `admit`."""
