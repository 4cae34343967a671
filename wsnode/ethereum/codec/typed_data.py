"""Signing hash of typed structured data (EIP-712), with geth's errors."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.blocks import keccak256

DOMAIN: Final = "EIP712Domain"
PREFIX: Final = b"\x19\x01"
WORD: Final = 32
MAX_LEVELS: Final = 64
"""Maximum nesting of values, and of brackets in the type of an array."""
MAX_TYPES: Final = 256
MAX_MEMBERS: Final = 256
"""Maximum members of one struct."""
MAX_CHARACTERS: Final = 16 * 1024
"""Maximum characters of all members' names and types. A struct's type hash covers all types that it uses."""
MAX_NAME: Final = 1_024
"""Maximum characters of one name or type."""
_DOMAIN_MEMBERS: Final = {
    "name": "string",
    "version": "string",
    "chainId": "uint256",
    "verifyingContract": "address",
    "salt": "bytes32",
}
_WIDTHS: Final = "|".join(str(bits) for bits in range(8, 257, 8))
_PRIMITIVE: Final = re.compile(
    rf"address|bool|string|bytes|bytes([1-9]|[12][0-9]|3[0-2])|u?int({_WIDTHS})?", re.ASCII
)
_STRUCT: Final = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_ARRAY: Final = re.compile(r"(.+)\[([0-9]{0,20})\]", re.ASCII | re.DOTALL)
_HEX: Final = re.compile(r"0[xX]([0-9a-fA-F]{2})*")
_ADDRESS: Final = re.compile(r"(0[xX])?[0-9a-fA-F]{40}")
_NUMBER: Final = re.compile(r"0[xX][0-9a-fA-F]{1,64}|-?[0-9]{1,78}", re.ASCII)


class Member(msgspec.Struct, frozen=True):
    """Member of a struct: its `name`, and the name of its `type`."""

    name: str
    type: str


class TypedData(msgspec.Struct, frozen=True, rename="camel"):
    """Typed data to sign: the types, the name of the message's type, the domain, and the message."""

    types: dict[str, list[Member]]
    primary_type: str
    domain: dict[str, Any]
    message: dict[str, Any]


def digest_of(typed_data: TypedData) -> bytes:
    """Return the hash to sign, 32 bytes (EIP-712).

    Raises:
        ValueError: The types are unsound, or a value does not fit its type.
    """
    types = {DOMAIN: _domain_type(typed_data.domain), **typed_data.types}
    _check_sizes(types)
    _check_types(types)
    if typed_data.primary_type not in types:
        raise ValueError(f'reference type "{typed_data.primary_type}" is undefined')
    encoder = _Encoder(types)
    signed = PREFIX + encoder.struct(DOMAIN, typed_data.domain, 1)
    if typed_data.primary_type != DOMAIN:
        signed += encoder.struct(typed_data.primary_type, typed_data.message, 1)
    return keccak256(signed)


def _domain_type(domain: Mapping[str, Any]) -> list[Member]:
    """Return the type of a domain whose type is not given: its members, in the order of EIP-712."""
    return [Member(name, kind) for name, kind in _DOMAIN_MEMBERS.items() if name in domain]


def _check_sizes(types: Mapping[str, Sequence[Member]]) -> None:
    """Check the sizes of types, so that hashing takes a time linear in the message's length."""
    if len(types) > MAX_TYPES:
        raise ValueError(f"too many types: {len(types)}, want at most {MAX_TYPES}")
    size = 0
    for name, members in types.items():
        if len(members) > MAX_MEMBERS:
            raise ValueError(f'type "{name[:80]}": {len(members)} members, want at most {MAX_MEMBERS}')
        for text in (name, *(text for member in members for text in (member.name, member.type))):
            if len(text) > MAX_NAME:
                raise ValueError(f'"{text[:80]}…" has more than {MAX_NAME} characters')
            size += len(text)
    if size > MAX_CHARACTERS:
        raise ValueError(f"the types have {size} characters, want at most {MAX_CHARACTERS}")


def _check_types(types: Mapping[str, Sequence[Member]]) -> None:
    for name, members in types.items():
        if not _STRUCT.fullmatch(name):
            raise ValueError(f'unknown reference type "{name}"' if name else "empty type key")
        # A value would be hashed once for each member of its name, on every level of nesting.
        if len({member.name for member in members}) < len(members):
            raise ValueError(f'type "{name}" has two members of one name')
        for index, member in enumerate(members):
            if not member.type:
                raise ValueError(f'type "{name}":{index}: empty Type')
            if not member.name:
                raise ValueError(f'type "{name}":{index}: empty Name')
            if member.type == name:
                raise ValueError(f'type "{name}" cannot reference itself')
            if member.type.count("[") > MAX_LEVELS:
                raise ValueError(f'type "{name}":{index}: more than {MAX_LEVELS} arrays in one another')
            innermost = _innermost(member.type)
            if innermost not in types and not _PRIMITIVE.fullmatch(innermost):
                raise ValueError(f'reference type "{member.type}" is undefined')


def _innermost(kind: str) -> str:
    while (array := _ARRAY.fullmatch(kind)) is not None:
        kind = array[1]
    return kind


class _Encoder:
    """Encoder of structs to the bytes that EIP-712 hashes, by the struct types of one typed message."""

    def __init__(self, types: Mapping[str, Sequence[Member]]) -> None:
        self._types = types
        self._parts = {
            name: {_innermost(member.type) for member in members} & types.keys()
            for name, members in types.items()
        }
        """Names of structs that each struct's members use directly."""
        self._type_hashes: dict[str, bytes] = {}

    def struct(self, name: str, values: Mapping[str, Any], level: int) -> bytes:
        """Return hashStruct of EIP-712: the hash of the type hash and each member's word."""
        words = [self._word(member.type, values.get(member.name), level) for member in self._types[name]]
        return keccak256(b"".join([self._type_hash(name), *words]))

    def _word(self, kind: str, value: Any, level: int) -> bytes:
        if level > MAX_LEVELS:
            raise ValueError(f"values lie more than {MAX_LEVELS} deep in one another")
        array = _ARRAY.fullmatch(kind)
        if array is not None:
            if type(value) is not list or (array[2] and len(value) != int(array[2])):
                raise _mismatch(kind, value)
            return keccak256(b"".join(self._word(array[1], item, level + 1) for item in value))
        if kind in self._types:
            if type(value) is not dict:
                raise _mismatch(kind, value)
            return self.struct(kind, value, level + 1)
        return _primitive(kind, value)

    def _type_hash(self, name: str) -> bytes:
        if name not in self._type_hashes:
            described = "".join(map(self._described, [name, *sorted(self._used_by(name) - {name})]))
            self._type_hashes[name] = keccak256(described.encode())
        return self._type_hashes[name]

    def _used_by(self, name: str) -> set[str]:
        """Return the names of all structs that a struct uses, directly or not, with its own name."""
        used: set[str] = set()
        waiting = [name]
        while waiting:
            current = waiting.pop()
            if current not in used:
                used.add(current)
                waiting += self._parts[current]
        return used

    def _described(self, name: str) -> str:
        members = ",".join(f"{member.type} {member.name}" for member in self._types[name])
        return f"{name}({members})"


def _primitive(kind: str, value: Any) -> bytes:
    if kind.startswith(("uint", "int")):
        return _integer(kind, value)
    if kind == "bool" and type(value) is bool:
        return value.to_bytes(WORD, "big")
    if type(value) is not str:
        raise _mismatch(kind, value)
    if kind == "string":
        return keccak256(value.encode())
    if kind == "address" and _ADDRESS.fullmatch(value):
        return bytes.fromhex(value[-40:]).rjust(WORD, b"\0")
    if kind.startswith("bytes") and _HEX.fullmatch(value):
        content = bytes.fromhex(value[2:])
        if kind == "bytes":
            return keccak256(content)
        if len(content) == int(kind[5:]):
            return content.ljust(WORD, b"\0")
    raise _mismatch(kind, value)


def _integer(kind: str, value: Any) -> bytes:
    number = _number(value)
    if number is None:
        raise _mismatch(kind, value)
    is_signed, bits = kind.startswith("int"), int(kind.removeprefix("u").removeprefix("int") or 256)
    if number < 0 and not is_signed:
        raise ValueError(f"invalid negative value for unsigned type {kind}")
    least, most = (-(1 << bits - 1), 1 << bits - 1) if is_signed else (0, 1 << bits)
    if not least <= number < most:
        raise ValueError(f"integer larger than '{kind}'")
    return (number % (1 << 8 * WORD)).to_bytes(WORD, "big")


def _number(value: Any) -> int | None:
    """Return the integer in a JSON number or, for large ones, in a string; None for another value."""
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    if type(value) is str and _NUMBER.fullmatch(value):
        with suppress(ValueError):
            return int(value, 16 if value[:2] in {"0x", "0X"} else 10)
    return None


def _mismatch(kind: str, value: Any) -> ValueError:
    written = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return ValueError(f"provided data '{written[:80]}' doesn't match type '{kind}'")
