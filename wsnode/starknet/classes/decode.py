"""Decoder of contract classes of either kind, from JSON documents."""

import msgspec

from wsnode.starknet.classes.cairo0 import decode_cairo0
from wsnode.starknet.classes.definition import ContractClass, NotAClassError
from wsnode.starknet.classes.sierra import decode_sierra
from wsnode.untrusted.decoding import JsonDecoder, MalformedError


class _ClassMembers(msgspec.Struct):
    sierra_program: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    program: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    code: str | int | msgspec.UnsetType = msgspec.UNSET
    message: str | msgspec.UnsetType = msgspec.UNSET


_decode = JsonDecoder(_ClassMembers).decode


def decode_class(text: bytes) -> ContractClass:
    """Return the class that `text` holds, alone or as the result of a JSON-RPC reply.

    Raises:
        NotAClassError: It holds none.
    """
    try:
        members = _decode(text)
    except MalformedError as error:
        raise NotAClassError(f"no JSON object: {error}") from None
    if not isinstance(members.result, msgspec.UnsetType):
        return decode_class(bytes(members.result))
    if not isinstance(members.sierra_program, msgspec.UnsetType):
        return decode_sierra(text)
    if not isinstance(members.program, msgspec.UnsetType):
        return decode_cairo0(text)
    raise NotAClassError(_what_else(members))


def _what_else(members: _ClassMembers) -> str:
    if isinstance(members.code, msgspec.UnsetType):
        return "no class: neither sierra_program nor program"
    return f"no class but an error: {members.code}: {members.message or ''}"
