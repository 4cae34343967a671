"""Decoder of contract classes of either kind, from JSON documents; those of Sierra classes are here."""

import msgspec

from wsnode.starknet.classes.cairo0 import decode_cairo0
from wsnode.starknet.classes.definition import (
    ClassKind,
    ContractClass,
    EntryPoints,
    NotAClassError,
    kinds_of,
    packed_kinds,
)
from wsnode.starknet.felt import felt_bytes, felt_text
from wsnode.starknet.native import sierra_class_hash
from wsnode.untrusted.decoding import JsonDecoder, MalformedError


class _SierraEntryPoint(msgspec.Struct, frozen=True, gc=False):
    selector: str
    function_idx: int


class _SierraSource(msgspec.Struct, frozen=True):
    sierra_program: list[str]
    contract_class_version: str
    entry_points_by_type: dict[str, list[_SierraEntryPoint]]
    abi: str | None = None


class _SierraAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    sierra_program: list[str]
    contract_class_version: str
    entry_points_by_type: dict[str, list[_SierraEntryPoint]]
    abi: str | None = None


_decode_source = JsonDecoder(_SierraSource).decode


def decode_sierra(text: bytes) -> ContractClass:
    """Return the Sierra class that `text` holds.

    Raises:
        NotAClassError: It holds none.
    """
    try:
        source = _decode_source(text)
        entry_points = _entry_points(source)
        program = [felt_bytes(felt) for felt in source.sierra_program]
        external, l1_handler, constructor = packed_kinds(entry_points)
        version, abi = source.contract_class_version, source.abi or ""
        class_hash = sierra_class_hash(version, external, l1_handler, constructor, abi, b"".join(program))
    except NotAClassError:
        raise
    except (ValueError, OverflowError) as error:
        raise NotAClassError(f"a Sierra class that cannot be read: {error}") from None
    return ContractClass(ClassKind.SIERRA, class_hash, _render(source, entry_points, program))


def _entry_points(source: _SierraSource) -> EntryPoints:
    return {
        kind: [(felt_bytes(point.selector), point.function_idx) for point in points]
        for kind, points in kinds_of(source.entry_points_by_type).items()
    }


def _render(source: _SierraSource, entry_points: EntryPoints, program: list[bytes]) -> bytes:
    answer = _SierraAnswer(
        sierra_program=[felt_text(felt) for felt in program],
        contract_class_version=source.contract_class_version,
        entry_points_by_type={
            kind: [_SierraEntryPoint(felt_text(selector), index) for selector, index in points]
            for kind, points in entry_points.items()
        },
        abi=source.abi,
    )
    return msgspec.json.encode(answer)


class _ClassMembers(msgspec.Struct):
    sierra_program: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    program: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    code: str | int | msgspec.UnsetType = msgspec.UNSET
    message: str | msgspec.UnsetType = msgspec.UNSET


_decode_members = JsonDecoder(_ClassMembers).decode


def decode_class(text: bytes) -> ContractClass:
    """Return the class that `text` holds, alone or as the result of a JSON-RPC reply.

    Raises:
        NotAClassError: It holds none.
    """
    try:
        members = _decode_members(text)
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
