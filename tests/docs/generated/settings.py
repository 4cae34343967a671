"""Tables of the configuration file's settings in docs/reference/settings.md, from their Structs."""

import ast
import inspect
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

import msgspec
from msgspec import NODEFAULT
from msgspec.inspect import (
    BoolType,
    DictType,
    Field,
    FloatType,
    IntType,
    LiteralType,
    NoneType,
    StrType,
    StructType,
    Type,
    UnionType,
    VarTupleType,
    type_info,
)

from tests.docs.generated.marks import TableWriter, markdown_table
from wsnode.node.config import Config
from wsnode.node.config_file import KNOWN

PAGE: Final = "reference/settings.md"
ROOT: Final = "wsnode.toml"
"""Part of the page with the settings outside of all tables."""
LIMITS: Final = "limits"
"""Table of the file whose settings limits.md has."""
_HEAD: Final = ("setting", "type", "default", "meaning")


@cache
def sections() -> dict[str, StructType]:
    """Return the Structs of the file's tables by their paths, `NAME` for the name of a network."""
    config = type_info(Config)
    assert isinstance(config, StructType)
    return {ROOT: config, **dict(_sections_of(config, ""))}


def _sections_of(struct: StructType, prefix: str) -> Iterator[tuple[str, StructType]]:
    for field in _settings(struct):
        path = f"{prefix}{field.encode_name}"
        inner, is_named = _struct_of(field.type)
        if inner is not None and path != LIMITS:
            path += ".NAME" if is_named else ""
            yield path, inner
            yield from _sections_of(inner, f"{path}.")


def _settings(struct: StructType) -> list[Field]:
    """Return the fields that a file may have; those of the whole are listed by the reader of files."""
    return [field for field in struct.fields if struct.cls is not Config or field.encode_name in KNOWN.names]


def _struct_of(kind: Type) -> tuple[StructType | None, bool]:
    """Return the Struct of a setting that is a table, else None; True if it is of several tables by name."""
    if isinstance(kind, DictType):
        return _struct_of(kind.value_type)[0], True
    found = [each for each in _alternatives(kind) if isinstance(each, StructType)]
    return (found[0] if found else None), False


def _alternatives(kind: Type) -> Sequence[Type]:
    every = kind.types if isinstance(kind, UnionType) else (kind,)
    return [each for each in every if not isinstance(each, NoneType)]


def table(part: str) -> str:
    """Return the table of a section's settings."""
    struct = sections()[part]
    meanings = field_docstrings(struct.cls)
    prefix = "" if part == ROOT else f"{part}."
    return markdown_table(
        _HEAD,
        (
            (
                f"`{field.encode_name}`",
                _type_text(field.type, f"{prefix}{field.encode_name}"),
                _default_text(field),
                meanings[field.name],
            )
            for field in _settings(struct)
        ),
    )


@cache
def field_docstrings(struct: type[Any]) -> dict[str, str]:
    """Return the docstrings behind a class's fields, each as one line, by the fields' names."""
    (body,) = ast.parse(inspect.getsource(struct)).body
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for field, behind in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(behind, ast.Expr)
            and isinstance(behind.value, ast.Constant)
        ):
            found[field.target.id] = " ".join(str(behind.value.value).split())
    return found


def _type_text(kind: Type, path: str) -> str:
    inner, is_named = _struct_of(kind)
    if path == LIMITS:
        return "table: [limits.md](limits.md)"
    if inner is not None:
        section = f"{path}.NAME" if is_named else path
        anchor = section.replace(".", "").lower()
        return f"{'tables by name' if is_named else 'table'}: [`[{section}]`](#{anchor})"
    return _either([_scalar_text(each) for each in _alternatives(kind)])


def _either(texts: Sequence[str]) -> str:
    *first, last = texts
    return f"{', '.join(first)} or {last}" if first else last


def _scalar_text(kind: Type) -> str:
    match kind:
        case BoolType():
            return "boolean"
        case StrType():
            return "string"
        case LiteralType():
            return _either([f'`"{value}"`' for value in kind.values])
        case IntType():
            return "integer" + _range_text(kind)
        case FloatType():
            return "number" + _range_text(kind)
        case VarTupleType(item_type=StrType()):
            least, most = kind.min_length, kind.max_length
            bounds = "" if most is None else f", {least} to {most}" if least else f", at most {most}"
            return f"list of strings{bounds}"
        case _:
            raise TypeError(f"a setting of an unknown type: {kind}")


def _range_text(kind: IntType | FloatType) -> str:
    above = None if kind.gt is None else f"above {_number(kind.gt)}"
    least = None if kind.ge is None else _number(kind.ge)
    most = None if kind.le is None else _number(kind.le)
    if least is not None and most is not None:
        return f", {least} to {most}"
    bounds = [above, least and f"at least {least}", most and f"at most {most}"]
    return "".join(f", {bound}" for bound in bounds if bound)


def _number(value: float) -> str:
    if isinstance(value, int):
        # The largest that a signed word of 64 bits holds.
        return "2^63 - 1" if value == (1 << 63) - 1 else f"{value:,}"
    return f"{value:g}"


def _default_text(field: Field) -> str:
    if field.required:
        return "required"
    value = field.default if field.default is not NODEFAULT else field.default_factory()
    match value:
        case None:
            return ""
        case msgspec.Struct():
            return ""
        case bool():
            return f"`{str(value).lower()}`"
        case str():
            return f'`"{value}"`'
        case int():
            return f"`{value:_}`"
        case float():
            return f"`{value:g}`"
        case ():
            return "`[]`"
        case _:
            raise TypeError(f"a setting with an unknown default: {field}")


WRITER: Final = TableWriter("settings", [PAGE], table)
