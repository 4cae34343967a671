"""The schemas that execution-apis publishes, held against results.

`published_schemas.json` has the schemas of `refs-openrpc.json` at commit 01f7809e2b90 of
ethereum/execution-apis (CC0), without titles and descriptions, as far as results of its cases refer to them.
Those of struct logs are from `src/schemas/opcode-tracer.yaml` at commit 0131e3f472c5. `results` has what the
methods' files below `src` say of their results. A result may only have members that its schema names,
although some of the published schemas admit any.
"""

import json
from pathlib import Path
from typing import Any, Final

import pytest

PUBLISHED: Final = json.loads((Path(__file__).parent / "published_schemas.json").read_text())
REFERENCE: Final = "#/components/schemas/"
WITHOUT_LOGS: Final = {"type": "array", "maxItems": 0}


def closed(schema: Any, *, is_part: bool = False) -> Any:
    """Return a schema that admits no member without a name; of the parts of one, only all together do."""
    if isinstance(schema, list):
        return [closed(each, is_part=is_part) for each in schema]
    if not isinstance(schema, dict):
        return schema
    result = {}
    for name, value in schema.items():
        if name == "$ref":
            result[name] = value if is_part else f"{value}!"
        elif name in {"properties", "patternProperties"}:
            result[name] = {member: closed(inner) for member, inner in value.items()}
        elif name == "allOf":
            result[name] = closed(value, is_part=True)
        else:
            result[name] = closed(value, is_part=is_part and name in {"oneOf", "anyOf"})
    if not is_part and schema.keys() & {"properties", "allOf"} and "additionalProperties" not in schema:
        result["unevaluatedProperties"] = False
    return result


def components(published: dict[str, Any]) -> dict[str, Any]:
    """Return each schema twice: as a part of another under its name, and closed under `NAME!`."""
    schemas: dict[str, Any] = {}
    for name, schema in published.items():
        schemas[name], schemas[f"{name}!"] = closed(schema, is_part=True), closed(schema)
    return schemas


def as_in_the_cases(published: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas with what they lack of the expected replies of the published cases.

    A failed call there has an empty list of logs, a reverted one its data, and `out of gas` is said as such.
    """
    failure = published["CallResultFailure"]
    reverted, failed = failure["properties"]["error"]["oneOf"]
    reverted = {**reverted, "properties": {**reverted["properties"], "data": {"$ref": f"{REFERENCE}bytes"}}}
    failed = {**failed, "properties": {**failed["properties"], "message": {"type": "string"}}}
    members = {**failure["properties"], "logs": WITHOUT_LOGS, "error": {"oneOf": [reverted, failed]}}
    return {**published, "CallResultFailure": {**failure, "properties": members}}


COMPONENTS: Final = components(as_in_the_cases(PUBLISHED["schemas"]))


def faults(method: str, result: Any) -> list[str]:
    """Return what is wrong with a method's result, each with its place."""
    jsonschema = pytest.importorskip("jsonschema", reason="replies are validated with jsonschema")
    schema = {**closed(PUBLISHED["results"][method]), "components": {"schemas": COMPONENTS}}
    found = jsonschema.Draft202012Validator(schema).iter_errors(result)
    return [f"{error.json_path}: {error.message[:300]}" for error in found]
