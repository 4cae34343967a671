"""Bounds of a session: those of the server, and those of one caller."""

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
"""A size; one byte at least."""
MessageBytes: TypeAlias = Annotated[int, msgspec.Meta(ge=1024, le=2**48)]
"""A size that must hold at least the smallest request."""
Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0001, le=31_536_000.0)]
"""A time, a year at most."""
SecondsOrZero: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=31_536_000.0)]
"""A time, or none at all."""


def check_count(count: int, most: int, items: str) -> None:
    """Check the number of a parameter's items, before anything is made of them.

    Raises:
        ValueError: There are more than `most`.
    """
    if count > most:
        raise ValueError(f"too many {items}: {count}, want at most {most}")


class SessionBounds(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of messages and calls, which an operator can change; sizes in bytes, times in seconds."""

    batch_items: Count = 1000
    """Calls in one batch."""
    batch_reply_bytes: MessageBytes = 25_000_000
    """The reply to one batch; the call that crosses it and all later ones get -32003."""
    batch_seconds: Seconds = 60.0
    """The time of one batch; the calls that are left then get -32002."""
    call_wait_seconds: Seconds = 30.0
    """The time that a call with a limit of its own waits for turns and threads; then it gets -32005."""
    parameter_values: Count = 100_000
    """JSON values in the parameters of one call, names of members among them; more get -32602."""
    reply_bytes: MessageBytes = 64 * 1024 * 1024
    """The reply to one call; a larger one becomes -32003."""
    slice_seconds: Seconds = 0.002
    """The time of one connection's quick calls in one turn."""
    slow_seconds: SecondsOrZero = 1.0
    """Calls that take longer are logged."""
    versions: Count = 1000
    """Versions of a store that calls in flight read at once; one more is refused with -32005."""


class AdmissionGate(Protocol):
    """Refuses calls that a caller may not make."""

    def admit(self, name: str) -> None:
        """Take note of a call of the method `name`, known or not.

        Raises:
            RpcError: It is refused.
        """
        ...

    def charge(self) -> None:
        """Take note of something that was sent in place of a call and names no method.

        Raises:
            RpcError: It is beyond the rate.
        """
        ...

    def check_contracts(self, contracts: Iterable[int] | None) -> None:
        """Check the contracts that a call names; None stands for any contract.

        Raises:
            RpcError: One is refused.
        """
        ...


class ClosedGate:
    """Refuses all calls, after those that another gate refuses."""

    def __init__(self, inner: AdmissionGate | None, error: RpcError) -> None:
        self._inner = inner
        self._error = error

    def admit(self, name: str) -> None:
        """Refuse the call.

        Raises:
            RpcError: Always.
        """
        if self._inner is not None:
            self._inner.admit(name)
        raise self._error

    def charge(self) -> None:
        """Charge for what is no call."""
        if self._inner is not None:
            self._inner.charge()

    def check_contracts(self, contracts: Iterable[int] | None) -> None:
        """Have no call to check."""
