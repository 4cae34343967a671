"""Sierra classes; the feeder's form equals a node's (CONTRACT_CLASS)."""

import msgspec

from wsnode.starknet.classes.definition import (
    ContractClass,
    EntryPoints,
    Kind,
    NotAClassError,
    kinds_of,
    packed_kinds,
)
from wsnode.starknet.felt import felt_bytes, felt_text
from wsnode.starknet.native import sierra_class_hash


class _EntryPoint(msgspec.Struct, frozen=True, gc=False):
    selector: str
    function_idx: int


class _Source(msgspec.Struct, frozen=True):
    sierra_program: list[str]
    contract_class_version: str
    entry_points_by_type: dict[str, list[_EntryPoint]]
    abi: str | None = None


class _Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    sierra_program: list[str]
    contract_class_version: str
    entry_points_by_type: dict[str, list[_EntryPoint]]
    abi: str | None = None


_decode = msgspec.json.Decoder(_Source).decode


def decode_sierra(text: bytes) -> ContractClass:
    """Return the Sierra class that `text` holds.

    Raises:
        NotAClassError: It holds none.
    """
    try:
        source = _decode(text)
        entry_points = _entry_points(source)
        program = [felt_bytes(felt) for felt in source.sierra_program]
        external, l1_handler, constructor = packed_kinds(entry_points)
        version, abi = source.contract_class_version, source.abi or ""
        class_hash = sierra_class_hash(version, external, l1_handler, constructor, abi, b"".join(program))
    except NotAClassError:
        raise
    except (ValueError, OverflowError) as error:
        raise NotAClassError(f"a Sierra class that cannot be read: {error}") from None
    return ContractClass(Kind.SIERRA, class_hash, _render(source, entry_points, program))


def _entry_points(source: _Source) -> EntryPoints:
    return {
        kind: [(felt_bytes(point.selector), point.function_idx) for point in points]
        for kind, points in kinds_of(source.entry_points_by_type).items()
    }


def _render(source: _Source, entry_points: EntryPoints, program: list[bytes]) -> bytes:
    answer = _Answer(
        sierra_program=[felt_text(felt) for felt in program],
        contract_class_version=source.contract_class_version,
        entry_points_by_type={
            kind: [_EntryPoint(felt_text(selector), index) for selector, index in points]
            for kind, points in entry_points.items()
        },
        abi=source.abi,
    )
    return msgspec.json.encode(answer)
