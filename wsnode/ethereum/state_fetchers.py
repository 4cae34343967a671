"""Interface for fetching state that a call lacks and another node has."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

Fetch: TypeAlias = Callable[[], Awaitable[None]]
"""Function that fetches missing state; raises RpcError if it cannot."""


class FetchSession(Protocol):
    """Session of one call that fetches missing values of the state and is repeated with them."""

    def fetch_for(self, error: Exception) -> Fetch | None:
        """Return a function that fetches the state named in `error`, None for any other error.

        Raises:
            RpcError: The call may fetch no more.
        """

    def moves_on(self) -> bool:
        """Return True if a call whose state cannot be fetched is to be repeated at the present head.

        It is if the head has changed since the call began. The repetition may fetch as much again.
        """


class StateFetchers(Protocol):
    """Source of values of the state that are not stored here, for calls: other nodes, with proofs."""

    def is_lack(self, error: Exception) -> bool:
        """Return True if an error means that state is missing."""

    def begin(self, method: str, params: bytes, view: Any) -> FetchSession:
        """Return the session of one call with `params` (JSON text) on `view`."""
