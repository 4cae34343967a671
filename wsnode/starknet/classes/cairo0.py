"""Cairo 0 classes (DEPRECATED_CONTRACT_CLASS).

The program is JSON at the feeder and base64(gzip(JSON)) at a node.
"""

import base64
import binascii
import gzip
import json
import zlib
from typing import Any

import msgspec

from wsnode.starknet.classes.definition import (
    ClassKind,
    ContractClass,
    EntryPoints,
    NotAClassError,
    compact,
    kinds_of,
    packed_kinds,
)
from wsnode.starknet.felt import felt_bytes, felt_text
from wsnode.starknet.native import cairo0_class_hash
from wsnode.untrusted.decoding import JsonDecoder

# Nodes compress programs with this level. The compressed bytes still differ between nodes, the program does
# not.
GZIP_LEVEL = 6
MAX_PROGRAM_BYTES = 64 * 1024 * 1024


def hinted_text(program: dict[str, Any], abi: Any) -> bytes:
    """Return the text whose Keccak is the hinted hash of `program` and `abi`; `program` is changed meanwhile.

    The definition is cairo-lang's: Python's `json.dumps` of both, with sorted keys, default separators and
    ASCII escapes. Differences of older compilers are undone as in cairo-lang.
    """
    program["debug_info"] = None
    _trim_attributes(program)
    # cairo-lang sorts the offsets of hints as numbers, so 10 comes after 9.
    program["hints"] = {int(offset): hints for offset, hints in program["hints"].items()}
    if program.get("compiler_version", ...) is None:
        del program["compiler_version"]
    if "compiler_version" not in program:
        for member in ("identifiers", "reference_manager"):
            _space_named_tuples(program.get(member))
    return json.dumps({"abi": abi, "program": program}, sort_keys=True).encode()


def _trim_attributes(program: dict[str, Any]) -> None:
    """Remove members that attributes lacked before Cairo 0.8, and an empty list of attributes."""
    for attribute in program.get("attributes") or []:
        if not attribute.get("accessible_scopes", True):
            del attribute["accessible_scopes"]
        if attribute.get("flow_tracking_data", ...) is None:
            del attribute["flow_tracking_data"]
    if not program.get("attributes"):
        program.pop("attributes", None)


def _space_named_tuples(value: Any) -> None:
    """Write `name : type` in types, as compilers did before they wrote their version."""
    if isinstance(value, list):
        for item in value:
            _space_named_tuples(item)
    elif isinstance(value, dict):
        for member, inner in value.items():
            if member in ("cairo_type", "value") and isinstance(inner, str):
                value[member] = inner.replace(": ", " : ").replace("  :", " :")
            else:
                _space_named_tuples(inner)


class _Cairo0EntryPoint(msgspec.Struct, frozen=True, gc=False):
    selector: str
    offset: int | str


class _Cairo0Source(msgspec.Struct, frozen=True):
    program: msgspec.Raw
    entry_points_by_type: dict[str, list[_Cairo0EntryPoint]]
    abi: msgspec.Raw = msgspec.Raw(b"null")


_decode = JsonDecoder(_Cairo0Source).decode


def decode_cairo0(text: bytes) -> ContractClass:
    """Return the Cairo 0 class that `text` holds.

    Raises:
        NotAClassError: It holds none.
    """
    try:
        source = _decode(text)
        entry_points = _entry_points(source)
        program, encoded = _program(compact(source.program))
        class_hash = _class_hash(entry_points, json.loads(program), json.loads(bytes(source.abi)))
    except NotAClassError:
        raise
    except (ValueError, OverflowError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise NotAClassError(f"a Cairo 0 class that cannot be read: {error!r}") from None
    return ContractClass(ClassKind.CAIRO0, class_hash, _render(source, entry_points, encoded))


def _entry_points(source: _Cairo0Source) -> EntryPoints:
    return {
        kind: [(felt_bytes(point.selector), _offset(point.offset)) for point in points]
        for kind, points in kinds_of(source.entry_points_by_type).items()
    }


def _offset(offset: int | str) -> int:
    # The feeder writes a number, a decimal string or a hex string.
    return int(offset, 0) if isinstance(offset, str) else offset


def _program(source: bytes) -> tuple[bytes, str]:
    """Return the program's JSON text and its form in results."""
    if source.startswith(b'"'):
        encoded = msgspec.json.decode(source, type=str)
        return _inflate(encoded), encoded
    return source, base64.b64encode(gzip.compress(source, GZIP_LEVEL, mtime=0)).decode()


def _inflate(encoded: str) -> bytes:
    try:
        reader = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        program = reader.decompress(base64.b64decode(encoded, validate=True), MAX_PROGRAM_BYTES)
    except (binascii.Error, zlib.error) as error:
        raise NotAClassError(f"the program is no base64 of gzip: {error}") from None
    if not reader.eof:
        raise NotAClassError(f"the program is cut off, or larger than {MAX_PROGRAM_BYTES} bytes")
    return program


def _class_hash(entry_points: EntryPoints, program: dict[str, Any], abi: Any) -> bytes:
    bytecode = b"".join(felt_bytes(word) for word in program["data"])
    builtins = list(program["builtins"])
    external, l1_handler, constructor = packed_kinds(entry_points)
    hinted = hinted_text(program, abi)
    return cairo0_class_hash(external, l1_handler, constructor, builtins, hinted, bytecode)


def _render(source: _Cairo0Source, entry_points: EntryPoints, encoded: str) -> bytes:
    answer: dict[str, Any] = {
        "program": encoded,
        "entry_points_by_type": {
            kind: [{"offset": hex(offset), "selector": felt_text(selector)} for selector, offset in points]
            for kind, points in entry_points.items()
        },
    }
    # The ABI is passed on unchanged; without one the member is left out.
    abi = compact(source.abi)
    if abi != b"null":
        answer["abi"] = msgspec.Raw(abi)
    return msgspec.json.encode(answer)
