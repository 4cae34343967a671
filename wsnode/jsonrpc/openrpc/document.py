"""OpenRPC document of a registry's methods, made from Structs, docstrings and registrations."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final

import msgspec

from wsnode.jsonrpc.codec import schema_of
from wsnode.jsonrpc.method import Method
from wsnode.jsonrpc.parameters import ParameterDecoder, PositionalOrNamedDecoder
from wsnode.jsonrpc.registry import Registry, first_line
from wsnode.jsonrpc.schema import REFERENCE, Schema, reference

OPENRPC_VERSION: Final = "1.3.2"
META_SCHEMA: Final = "https://raw.githubusercontent.com/open-rpc/meta-schema/master/schema.json"


class OpenRpcWriter:
    """Writer of the OpenRPC document (rpc.discover) of the methods in one registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._schemas: dict[str, Schema] = {}

    def write(self, title: str, version: str) -> Schema:
        """Return the document of the methods that are registered now."""
        self._schemas = dict(self._registry.components)
        methods = [self._method(method) for _name, method in sorted(self._registry.methods.items())]
        return {
            "openrpc": OPENRPC_VERSION,
            "info": {"title": title, "version": version},
            "methods": methods,
            "components": {"schemas": dict(sorted(self._schemas.items()))},
        }

    def _method(self, method: Method) -> Schema:
        struct = method.parameters.struct
        returned = method.summary.removeprefix("Return ")
        return {
            "name": method.name,
            "summary": method.summary,
            "paramStructure": _structure(method.parameters),
            "params": self._parameters(struct),
            "result": {
                "name": "result",
                "description": returned[:1].upper() + returned[1:],
                "schema": method.result,
            },
            "errors": [{"code": error.code, "message": error.message} for error in method.errors],
        }

    def _parameters(self, struct: type[msgspec.Struct] | None) -> Sequence[Schema]:
        if struct is None:
            return []
        parameters, named = _described(struct)
        self._schemas |= named
        return parameters


def _structure(parameters: ParameterDecoder) -> str:
    if isinstance(parameters, PositionalOrNamedDecoder):
        return "either"
    is_by_name = parameters.struct is not None and not parameters.struct.__struct_config__.array_like
    return "by-name" if is_by_name else "by-position"


# Networks take the same Structs, and to describe one takes longer than the rest of a method.
@cache
def _described(struct: type[msgspec.Struct]) -> tuple[Sequence[Schema], Mapping[str, Schema]]:
    """Return the schemas of a Struct's fields as parameters, and the named schemas that these refer to."""
    named: dict[str, Schema] = {}

    def refer(cls: type) -> Schema:
        name, schema = schema_of(cls)
        named[name] = {"description": first_line(inspect.getdoc(cls)), **schema}
        return reference(name)

    fields = msgspec.structs.fields(struct)
    (*schemas,), components = msgspec.json.schema_components(
        [field.type for field in fields], schema_hook=refer, ref_template=REFERENCE
    )
    parameters = [
        {"name": field.encode_name, "required": field.required, "schema": schema}
        for field, schema in zip(fields, schemas, strict=True)
    ]
    return parameters, named | components


def add_discovery(registry: Registry, *, title: str, version: Callable[[], str]) -> None:
    """Register `rpc.discover`; its document includes methods that are registered later."""

    # Writing the document takes milliseconds. The number of methods is the key, because methods are
    # registered while the node starts.
    written: dict[int, bytes] = {}

    @registry.method("rpc.discover", view=False, result={"$ref": META_SCHEMA})
    def discover() -> bytes:
        """Return the OpenRPC document of this network's methods."""
        count = len(registry.methods)
        if count not in written:
            written.clear()
            written[count] = msgspec.json.encode(OpenRpcWriter(registry).write(title, version()))
        return written[count]
