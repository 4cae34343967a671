"""JSON schemas from which the documents of methods are composed."""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

Schema: TypeAlias = dict[str, Any]

REFERENCE: Final = "#/components/schemas/{name}"
ANYTHING: Final[Schema] = {}
NULL: Final[Schema] = {"type": "null"}
BOOLEAN: Final[Schema] = {"type": "boolean"}
STRING: Final[Schema] = {"type": "string"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}


def reference(name: str) -> Schema:
    """Return a reference to the schema of the component `name`."""
    return {"$ref": REFERENCE.format(name=name)}


def text(pattern: str) -> Schema:
    """Return the schema of a string that matches `pattern` as a whole."""
    return {"type": "string", "pattern": f"^{pattern}$"}


def list_of(item: Schema, *, most: int | None = None) -> Schema:
    """Return the schema of an array; `most` bounds the number of its items."""
    return {"type": "array", "items": item} | ({} if most is None else {"maxItems": most})


def either(*schemas: Schema) -> Schema:
    """Return the schema of a value that fits one of several schemas."""
    return {"anyOf": list(schemas)}


def or_null(schema: Schema) -> Schema:
    """Return the schema of a value or null."""
    return either(schema, NULL)


def mapping_of(value: Schema, names: str | None = None, *, most: int | None = None) -> Schema:
    """Return the schema of an object with arbitrary member names, or only names that match a pattern.

    `most` bounds the number of members; it has no effect with a pattern.
    """
    if names is None:
        bound = {} if most is None else {"maxProperties": most}
        return {"type": "object", "additionalProperties": value, **bound}
    return {"type": "object", "patternProperties": {f"^{names}$": value}, "additionalProperties": False}


def record(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """Return the schema of an object with these members and no others."""
    members = {**required, **(optional or {})}
    return {
        "type": "object",
        "properties": members,
        "required": list(required),
        "additionalProperties": False,
    }


def members(properties: dict[str, Schema], *required: str) -> Schema:
    """Return the schema of an object with at least these members; other members are ignored."""
    return {"type": "object", "properties": properties, "required": list(required)}


def tuple_of(items: Sequence[Schema]) -> Schema:
    """Return the schema of an array with exactly these items."""
    return {"type": "array", "prefixItems": list(items), "minItems": len(items), "maxItems": len(items)}
