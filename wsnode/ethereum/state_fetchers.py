"""The interface of what fetches values of the state that calls lack, where another node has them."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

Fetch: TypeAlias = Callable[[], Awaitable[None]]
"""Returns once what a call lacked is there; raises RpcError if that cannot be."""


class FetchSession(Protocol):
    """What one call has lacked so far."""

    def fetch_for(self, error: Exception) -> Fetch | None:
        """Return what fetches the values that `error` names, None for an error that names none.

        Raises:
            RpcError: The call may fetch no more.
        """

    def moves_on(self) -> bool:
        """Return whether the call, which cannot have what it lacks, is to be made at the present head.

        It is if the head that it saw is the head no more. There it may fetch as much again.
        """


class StateFetchers(Protocol):
    """What fetches for calls."""

    def is_lack(self, error: Exception) -> bool:
        """Return whether an error says that something is lacking."""

    def begin(self, method: str, params: bytes, view: Any) -> FetchSession:
        """Return the account of one call, whose parameters are JSON text, and which reads from `view`."""
