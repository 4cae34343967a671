"""What bounds a session: the same for all of a server, and what one caller may ask for."""

from collections.abc import Iterable
from typing import Annotated, Protocol, TypeAlias

import msgspec

# What a limit may be set to. An upper end keeps infinity out, and sums of limits within 64 bits.
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
"""How many there may be, one at least."""
Allowance: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
"""How many there may be, or none at all."""
Bytes: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**48)]
"""A size; one byte at least."""
Room: TypeAlias = Annotated[int, msgspec.Meta(ge=1024, le=2**48)]
"""The size of what has to hold a head or a whole message."""
Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0001, le=31_536_000.0)]
"""A time, a year at most."""
Patience: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=31_536_000.0)]
"""A time, or none at all."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What one message may ask for."""

    batch_items: int = 1000
    batch_reply_bytes: int = 25_000_000
    batch_seconds: float = 60.0
    parameter_values: int = 100_000
    reply_bytes: int = 64 * 1024 * 1024
    slice_seconds: float = 0.002
    slow_seconds: float = 1.0
    versions: int = 1000


class Gate(Protocol):
    """Refuses what a caller may not ask for."""

    def admit(self, name: str) -> None:
        """Take note of a call of the method `name`, known or not.

        Raises:
            RpcError: It is refused.
        """
        ...

    def check_contracts(self, contracts: Iterable[int] | None) -> None:
        """Look at the contracts that a call names, or at nothing if it means any.

        Raises:
            RpcError: One is refused.
        """
        ...
