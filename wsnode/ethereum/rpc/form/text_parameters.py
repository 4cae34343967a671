"""Methods that take their parameters as JSON text: the engine parses the usual form, which is much faster."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

import msgspec

from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ReorganisedError, State
from wsnode.jsonrpc.parameters import PositionalParameters
from wsnode.jsonrpc.work import Steps
from wsnode.store.environment import Reader

TextRead: TypeAlias = Callable[[State, int, bytes, bytes], bytes | int | None]
"""Returns the JSON text of state after the block of this number and hash, if `params` name it or the latest.

If they name another block, returns its number; None if they are not in the usual form.
"""
TextLookup: TypeAlias = Callable[[Reader, bytes], bytes | None]
"""Returns the JSON text of what `params` name; None if it does not exist, or in an unusual form."""


class TextParameters:
    """Passes parameters on as JSON text."""

    def __init__(self, struct: type[msgspec.Struct]) -> None:
        self.struct: type[msgspec.Struct] | None = struct
        self.decode: Callable[[bytes], bytes] = bytes
        self._decoded = PositionalParameters(struct)

    def explain(self, params: bytes) -> bytes:
        """Return `params` unchanged."""
        return params

    def read(self, params: Any) -> Any:
        """Return parameters in any form as the Struct; a Struct is returned unchanged.

        Raises:
            RpcError: They are invalid, with the reason for the caller.
        """
        return self._decoded.read(params) if isinstance(params, bytes) else params


def reading_text(
    read: TextRead, handler: Callable[[Snapshot, Any], bytes | Steps], parameters: TextParameters
) -> Callable[[Snapshot, bytes], bytes | Steps]:
    """Return `handler` for parameters as JSON text; `read` answers the usual form at once."""

    @wraps(handler)
    def answer(view: Snapshot, params: Any) -> bytes | Steps:
        if not isinstance(params, bytes):
            return handler(view, params)
        try:
            found = read(view.state, view.number, view.head.hash, params)
            if type(found) is int and (block_hash := view.hash_of(found)) is not None:
                found = read(view.state, found, block_hash, params)
        except ReorganisedError:
            found = None
        return found if type(found) is bytes else handler(view, parameters.read(params))

    return answer


def looking_up_text(
    read: TextLookup, handler: Callable[[Snapshot, Any], bytes], parameters: TextParameters
) -> Callable[[Snapshot, bytes], bytes]:
    """Return `handler` for parameters as JSON text; `read` answers the usual form."""

    @wraps(handler)
    def answer(view: Snapshot, params: Any) -> bytes:
        if not isinstance(params, bytes):
            return handler(view, params)
        return read(view.reader, params) or handler(view, parameters.read(params))

    return answer
