"""Bounds of a session: those of the server, and those of one caller."""

from collections.abc import Iterable
from typing import Annotated, Protocol, TypeAlias

import msgspec

# Values of limits. The upper ends exclude infinity and keep sums of limits within 64 bits.
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
"""A maximum number, at least one."""
Allowance: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
"""A maximum number, which may be zero."""
Bytes: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**48)]
"""A size; one byte at least."""
Room: TypeAlias = Annotated[int, msgspec.Meta(ge=1024, le=2**48)]
"""A size that must hold at least a head or a whole message."""
Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0001, le=31_536_000.0)]
"""A time, a year at most."""
Patience: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=31_536_000.0)]
"""A time, or none at all."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of one message."""

    batch_items: int = 1000
    batch_reply_bytes: int = 25_000_000
    batch_seconds: float = 60.0
    parameter_values: int = 100_000
    reply_bytes: int = 64 * 1024 * 1024
    slice_seconds: float = 0.002
    slow_seconds: float = 1.0
    versions: int = 1000


class Gate(Protocol):
    """Refuses calls that a caller may not make."""

    def admit(self, name: str) -> None:
        """Take note of a call of the method `name`, known or not.

        Raises:
            RpcError: It is refused.
        """
        ...

    def check_contracts(self, contracts: Iterable[int] | None) -> None:
        """Check the contracts that a call names; None stands for any contract.

        Raises:
            RpcError: One is refused.
        """
        ...
