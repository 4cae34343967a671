"""JSON schemas of a few kinds, as documents of methods are put together of them."""

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
    """Return the schema that stands for the component `name`."""
    return {"$ref": REFERENCE.format(name=name)}


def text(pattern: str) -> Schema:
    """Return the schema of a string."""
    return {"type": "string", "pattern": f"^{pattern}$"}


def list_of(item: Schema, *, most: int | None = None) -> Schema:
    """Return the schema of an array; one of a parameter has `most` items."""
    return {"type": "array", "items": item} | ({} if most is None else {"maxItems": most})


def either(*schemas: Schema) -> Schema:
    """Return the schema of what fits one of several."""
    return {"anyOf": list(schemas)}


def or_null(schema: Schema) -> Schema:
    """Return the schema of a value or null."""
    return either(schema, NULL)


def mapping_of(value: Schema, names: str | None = None, *, most: int | None = None) -> Schema:
    """Return the schema of an object with arbitrary names, or only such as fit a pattern.

    One of a parameter has `most` members.
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
    """Return the schema of an object in which other members are passed over."""
    return {"type": "object", "properties": properties, "required": list(required)}


def tuple_of(items: Sequence[Schema]) -> Schema:
    """Return the schema of an array of just these items."""
    return {"type": "array", "prefixItems": list(items), "minItems": len(items), "maxItems": len(items)}
