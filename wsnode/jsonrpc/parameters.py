"""Decoding of `params` to a method's Struct, with geth's error messages."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

import msgspec

from wsnode._native.wire import first_items
from wsnode.jsonrpc.codec import UNREADABLE, decode_hook
from wsnode.jsonrpc.errors import RpcError, invalid_params, short_message

NULL = b"null"
_PATH = re.compile(r" - at `\$.*`$", re.S)
_EMPTY_OBJECT = re.compile(rb"\{\s*\}")


class ParameterDecoder(Protocol):
    """Decoder of the JSON text of `params`, empty if absent, to the object that a handler gets; implemented
    by one class for each form of parameters.
    """

    struct: type[msgspec.Struct] | None
    """Type of the object; None if the method takes no parameters."""

    def decode(self, params: bytes) -> Any:
        """Return the parameters as a `struct`; None for a method without parameters.

        Raises:
            msgspec.DecodeError: They do not fit; `explain` then decodes them leniently, or raises the reason.
        """
        ...

    def explain(self, params: bytes) -> Any:
        """Return the decoded parameters if they fit in a form that `decode` refuses.

        Raises:
            RpcError: The parameters do not fit; the message says which and why.
        """
        ...

    def read(self, params: bytes) -> Any:
        """Return the decoded parameters, by `decode` or else by `explain`.

        Raises:
            RpcError: The parameters do not fit; the message says which and why.
        """
        try:
            return self.decode(params)
        except UNREADABLE:
            return self.explain(params)


# Networks take the same Structs, and to make the decoders of one takes a tenth of a millisecond.
@cache
def decoder_for(struct: type[msgspec.Struct] | None, *, by_name: bool) -> ParameterDecoder:
    """Return the decoder of a method with the parameters `struct`, or without parameters."""
    if struct is None:
        return NoParameters(by_name=by_name)
    if struct.__struct_config__.array_like:
        return PositionalDecoder(struct)
    return NamedDecoder(struct)


class _Fields:
    """Fields of a Struct of parameters by position: names, which ones are required, and a JSON decoder for
    each.
    """

    def __init__(self, struct: type[msgspec.Struct]) -> None:
        self.struct = struct
        self.names = struct.__struct_fields__
        self.wire_names = struct.__struct_encode_fields__
        fields = msgspec.structs.fields(struct)
        self.required = [field.required for field in fields]
        self.decoders = [msgspec.json.Decoder(field.type, dec_hook=decode_hook).decode for field in fields]


class PositionalDecoder(ParameterDecoder):
    """Decoder of parameters by position, the form of all Ethereum methods."""

    def __init__(self, struct: type[msgspec.Struct]) -> None:
        self.struct: type[msgspec.Struct] | None = struct
        self._fields = _Fields(struct)
        # Without `forbid_unknown_fields`, msgspec would silently ignore superfluous arguments.
        strict = msgspec.defstruct(struct.__name__, [], bases=(struct,), forbid_unknown_fields=True)
        self._decode = msgspec.json.Decoder(strict, dec_hook=decode_hook).decode

    def decode(self, params: bytes) -> Any:
        return self._decode(params)

    def explain(self, params: bytes) -> Any:
        """Return `params` as the Struct, decoded argument by argument; null counts as absent."""
        fields = self._fields
        values = {}
        for position, argument in enumerate(_arguments(params, len(fields.names))):
            if position >= len(fields.names):
                raise invalid_params(f"too many arguments, want at most {len(fields.names)}")
            if argument == NULL and fields.required[position]:
                raise invalid_params(f"missing value for required argument {position}")
            if argument != NULL:
                values[fields.names[position]] = _argument(fields.decoders[position], argument, position)
        for position, name in enumerate(fields.names):
            if fields.required[position] and name not in values:
                raise invalid_params(f"missing value for required argument {position}")
        return fields.struct(**values)


class _ListedParameters(PositionalDecoder):
    """Decoder of parameters by position, or in a second form that `_listed` turns into an array."""

    def decode(self, params: bytes) -> Any:
        return super().decode(self._listed(params))

    def explain(self, params: bytes) -> Any:
        return super().explain(self._listed(params))

    def _listed(self, params: bytes) -> bytes:
        raise NotImplementedError


class ArgumentOrListParameters(_ListedParameters):
    """Decoder of one object, sent in an array like all positional parameters, or without the array."""

    def _listed(self, params: bytes) -> bytes:
        return b"[%b]" % params if params.startswith(b"{") else params


class PositionalOrNamedDecoder(_ListedParameters):
    """Decoder of parameters by position, or as members of an object."""

    def _listed(self, params: bytes) -> bytes:
        if not params.startswith(b"{"):
            return params
        members = msgspec.json.decode(params, type=dict[str, msgspec.Raw])
        names = self._fields.wire_names
        if unknown := members.keys() - set(names):
            raise invalid_params(f"unknown member {short_message(min(unknown))}")
        for name, is_required in zip(names, self._fields.required, strict=True):
            if is_required and name not in members:
                raise invalid_params(f"missing required field '{name}'")
        return b"[%b]" % b",".join(bytes(members.get(name, NULL)) for name in names)


class NamedDecoder(ParameterDecoder):
    """Decoder of parameters by name, the form of the Starknet family; an array gives them in order."""

    def __init__(self, struct: type[msgspec.Struct]) -> None:
        self.struct: type[msgspec.Struct] | None = struct
        self._fields = _Fields(struct)
        self._decode = msgspec.json.Decoder(struct, dec_hook=decode_hook).decode

    def decode(self, params: bytes) -> Any:
        return self._decode(params)

    def explain(self, params: bytes) -> Any:
        """Return `params` as the Struct: an object, an array in the order of the fields, or nothing.

        Raises:
            RpcError: -32602 `Invalid params`; `data.reason` says why.
        """
        try:
            if params in (b"", NULL):
                return self._decode(b"{}")
            if not params.startswith(b"["):
                return self._decode(params)
            arguments = first_items(params, len(self._fields.names) + 1)
            if len(arguments) > len(self._fields.names):
                raise _named(f"too many arguments, want at most {len(self._fields.names)}")
            members = zip(self._fields.wire_names, map(msgspec.Raw, arguments), strict=False)
            return self._decode(msgspec.json.encode(dict(members)))
        except UNREADABLE as error:
            raise _named(str(error)) from None


class NoParameters(ParameterDecoder):
    """Decoder for methods without parameters: accepts absent, null or empty `params`."""

    def __init__(self, *, by_name: bool) -> None:
        self.struct: type[msgspec.Struct] | None = None
        self._by_name = by_name

    def decode(self, params: bytes) -> None:
        self.explain(params)

    def explain(self, params: bytes) -> None:
        """Return None if no parameters were sent.

        Raises:
            RpcError: -32602; parameters were sent.
        """
        if self._by_name and params.startswith(b"{"):
            if not _EMPTY_OBJECT.fullmatch(params):
                raise _named("the method takes no parameters")
        elif _arguments(params, 0):
            raise invalid_params("too many arguments, want at most 0")


def _arguments(params: bytes, most: int) -> list[bytes]:
    """Return the JSON texts of the arguments, at most `most` + 1 of them."""
    if params in (b"", NULL):
        return []
    if not params.startswith(b"["):
        raise invalid_params("non-array args")
    return first_items(params, most + 1)


def _argument(decode: Callable[[bytes], Any], argument: bytes, position: int) -> Any:
    try:
        return decode(argument)
    except UNREADABLE as error:
        raise invalid_params(f"invalid argument {position}: {_PATH.sub('', str(error))}") from None


def _named(reason: str) -> RpcError:
    return invalid_params("Invalid params", {"reason": short_message(reason)})
