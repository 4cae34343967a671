"""Methods that are given their parameters as text: in the usual form the engine reads it, much faster."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

import msgspec

from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ReorganisedError, State
from wsnode.jsonrpc.parameters import PositionalParameters
from wsnode.jsonrpc.work import Steps
from wsnode.store.environment import Reader

PlainRead: TypeAlias = Callable[[State, int, bytes, bytes], bytes | int | None]
"""Reads state after the block of this number and hash, as JSON; `params` mean this block or the latest.

Where they mean another block its number is returned, and nothing where they are not in the usual form.
"""
PlainLookup: TypeAlias = Callable[[Reader, bytes], bytes | None]
"""Looks up what `params` name, as JSON; nothing if there is none, or they are not in the usual form."""


class TextParameters:
    """Hands parameters on as they were sent."""

    def __init__(self, struct: type[msgspec.Struct]) -> None:
        self.struct: type[msgspec.Struct] | None = struct
        self.decode: Callable[[bytes], bytes] = bytes
        self._decoded = PositionalParameters(struct)

    def explain(self, params: bytes) -> bytes:
        """Return the same."""
        return params

    def read(self, params: Any) -> Any:
        """Return parameters of any form as the Struct, or those that have been read already.

        Raises:
            RpcError: What does not fit, in words for the caller.
        """
        return self._decoded.read(params) if isinstance(params, bytes) else params


def reading_plainly(
    read: PlainRead, handler: Callable[[Snapshot, Any], bytes | Steps], parameters: TextParameters
) -> Callable[[Snapshot, bytes], bytes | Steps]:
    """Return `handler` for parameters as text, most of which `read` answers at once."""

    @wraps(handler)
    def answer(view: Snapshot, params: Any) -> bytes | Steps:
        if not isinstance(params, bytes):
            return handler(view, params)
        try:
            found = read(view.state, view.head, view.head_hash, params)
            if type(found) is int and (block_hash := view.hash_of(found)) is not None:
                found = read(view.state, found, block_hash, params)
        except ReorganisedError:
            found = None
        return found if type(found) is bytes else handler(view, parameters.read(params))

    return answer


def looking_up_plainly(
    read: PlainLookup, handler: Callable[[Snapshot, Any], bytes], parameters: TextParameters
) -> Callable[[Snapshot, bytes], bytes]:
    """Return `handler` for parameters as text, with which `read` finds nearly all that is asked for."""

    @wraps(handler)
    def answer(view: Snapshot, params: Any) -> bytes:
        if not isinstance(params, bytes):
            return handler(view, params)
        return read(view.reader, params) or handler(view, parameters.read(params))

    return answer
