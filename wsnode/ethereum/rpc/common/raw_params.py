"""Methods that take their parameters as JSON text: the engine parses the usual form, which is much faster."""

from collections.abc import Callable
from typing import Any

import msgspec

from wsnode.jsonrpc.parameters import PositionalDecoder


class TextParameters:
    """Passes parameters on as JSON text."""

    def __init__(self, struct: type[msgspec.Struct]) -> None:
        self.struct: type[msgspec.Struct] | None = struct
        self.decode: Callable[[bytes], bytes] = bytes
        self._decoded = PositionalDecoder(struct)

    def explain(self, params: bytes) -> bytes:
        """Return `params` unchanged."""
        return params

    def read(self, params: Any) -> Any:
        """Return parameters in any form as the Struct; a Struct is returned unchanged.

        Raises:
            RpcError: They are invalid, with the reason for the caller.
        """
        return self._decoded.read(params) if isinstance(params, bytes) else params
