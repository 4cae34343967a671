"""The OpenRPC document of a registry, held against what its methods reply."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from tests.memory_transport import Ask
from wsnode.jsonrpc.openrpc.document import OpenRpcWriter
from wsnode.jsonrpc.registry import Registry

_LATER = ("anyOf", "oneOf", "allOf", "prefixItems")
_OPEN = {
    "object": ("properties", "patternProperties", "additionalProperties"),
    "array": ("items", "prefixItems"),
}


def vague(schema: Any, path: str) -> Iterator[str]:
    """Yield where a schema lets anything pass, or any object or array."""
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    bounds = _OPEN.get(kind, ()) if isinstance(kind, str) else ()
    if not schema.keys() - {"description", "default"} or (bounds and not schema.keys() & set(bounds)):
        yield path
    for name in ("properties", "patternProperties"):
        for member, inner in schema.get(name, {}).items():
            yield from vague(inner, f"{path}.{member}")
    for name in ("items", "additionalProperties"):
        yield from vague(schema.get(name), f"{path}[]")
    for name in _LATER:
        for index, inner in enumerate(schema.get(name, ())):
            yield from vague(inner, f"{path}|{index}")


def vague_places(document: dict[str, Any]) -> list[str]:
    """Return all such places of a document."""
    found: list[str] = []
    for method in document["methods"]:
        found += vague(method["result"]["schema"], method["name"])
        for parameter in method["params"]:
            found += vague(parameter["schema"], f"{method['name']}({parameter['name']})")
    for name, schema in document["components"]["schemas"].items():
        found += vague(schema, name)
    return found


def document_of(registry: Registry) -> dict[str, Any]:
    """Return the document of a registry that has no method for it."""
    return OpenRpcWriter(registry).write("wsnode", "0")


class ReplySchemas:
    """Validators of what one document's methods take and return."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._components = document["components"]
        self._methods = {method["name"]: method for method in document["methods"]}
        self._validators: dict[str, Any] = {}

    def validate(self, method: str, result: Any) -> None:
        """Check a result, unless it is the document, whose schema is elsewhere."""
        if method == "rpc.discover":
            return
        if method not in self._validators:
            self._validators[method] = self._validator(self._methods[method]["result"]["schema"])
        self._validators[method].validate(result)

    def validate_error(self, method: str, error: dict[str, Any]) -> None:
        """Check that the document lists such an error, if it has the method."""
        if method in self._methods:
            assert error["code"] in {listed["code"] for listed in self._methods[method]["errors"]}, (
                method,
                error,
            )

    def validate_parameters(self, method: str, params: Sequence[Any]) -> None:
        """Check parameters by position; null is as good as absent."""
        for parameter, value in zip(self._methods[method]["params"], params, strict=False):
            if value is not None:
                self._validator(parameter["schema"]).validate(value)

    def _validator(self, schema: dict[str, Any]) -> Any:
        jsonschema = pytest.importorskip("jsonschema", reason="replies are validated with jsonschema")
        return jsonschema.Draft202012Validator({**schema, "components": self._components})


def validating(ask: Ask) -> Ask:
    """Return a function that calls methods and checks each reply against the document of that time."""
    schemas = ReplySchemas(cast("dict[str, Any]", ask("rpc.discover")["result"]))

    def checked(method: str, *params: Any, service_form: bool = False) -> dict[str, Any]:
        reply = ask(method, *params, service_form=service_form)
        if "result" in reply:
            schemas.validate(method, reply["result"])
        else:
            schemas.validate_error(method, reply["error"])
        return reply

    return checked
