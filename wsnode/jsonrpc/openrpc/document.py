"""The methods of a registry as an OpenRPC document: from Structs, docstrings and what is told besides."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from wsnode.jsonrpc.errors import INTERNAL_ERROR, INVALID_PARAMS, LIMIT_EXCEEDED, server_busy
from wsnode.jsonrpc.openrpc.schema import REFERENCE, Schema, reference
from wsnode.jsonrpc.registry import Method, Registry

OPENRPC_VERSION: Final = "1.3.2"
META_SCHEMA: Final = "https://raw.githubusercontent.com/open-rpc/meta-schema/master/schema.json"


class Descriptions(msgspec.Struct, frozen=True):
    """What neither Structs nor docstrings tell: `types` of parameters, `results` and `errors` by method."""

    types: Mapping[type, Schema] = {}
    components: Mapping[str, Schema] = {}
    results: Mapping[str, Schema] = {}
    errors: Mapping[str, Sequence[Schema]] = {}

    def __or__(self, other: "Descriptions") -> "Descriptions":
        """Return what both tell, of methods that only one of them knows."""
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return Descriptions(*({**mine, **others} for mine, others in pairs))


def described_error(code: int, message: str) -> Schema:
    """Return an error as documents list it."""
    return {"code": code, "message": message}


class Document:
    """Writes the document of one registry."""

    def __init__(self, registry: Registry, told: Descriptions) -> None:
        self._registry = registry
        self._told = told
        self._schemas: dict[str, Schema] = {}

    def write(self, title: str, version: str) -> Schema:
        """Return the document of the methods that are registered now."""
        self._schemas = dict(self._told.components)
        methods = [self._method(method) for _name, method in sorted(self._registry.methods.items())]
        return {
            "openrpc": OPENRPC_VERSION,
            "info": {"title": title, "version": version},
            "methods": methods,
            "components": {"schemas": dict(sorted(self._schemas.items()))},
        }

    def _method(self, method: Method) -> Schema:
        text = inspect.getdoc(method.function) or ""
        struct = method.parameters.struct
        positional = struct is None or struct.__struct_config__.array_like
        return {
            "name": method.name,
            "summary": _first_line(text),
            "paramStructure": "by-position" if positional else "by-name",
            "params": [] if struct is None else self._parameters(struct),
            "result": self._result(method.name, text),
            "errors": self._errors(method),
        }

    def _parameters(self, struct: type[msgspec.Struct]) -> list[Schema]:
        fields = msgspec.structs.fields(struct)
        (*schemas,), components = msgspec.json.schema_components(
            [field.type for field in fields], schema_hook=self._schema, ref_template=REFERENCE
        )
        self._schemas |= components
        return [
            {"name": field.encode_name, "required": field.required, "schema": schema}
            for field, schema in zip(fields, schemas, strict=True)
        ]

    def _schema(self, cls: type) -> Schema:
        """Return the reference to a type that the method's own decoder reads."""
        described = self._told.types.get(cls, {})
        self._schemas[cls.__name__] = {"description": _first_line(inspect.getdoc(cls) or ""), **described}
        return reference(cls.__name__)

    def _result(self, name: str, text: str) -> Schema:
        described = _first_line(text).removeprefix("Return ")
        described = described[:1].upper() + described[1:]
        return {"name": "result", "description": described, "schema": self._told.results.get(name, {})}

    def _errors(self, method: Method) -> list[Schema]:
        found = [*self._told.errors.get(method.name, ())]
        if method.deadline is not None:
            late = method.timeout_error
            found.append(described_error(late.code, late.message))
            if late.code != LIMIT_EXCEEDED:
                busy = server_busy()
                found.append(described_error(busy.code, busy.message))
        found.append(described_error(INVALID_PARAMS, "invalid argument, or one missing or too many"))
        return [*found, described_error(INTERNAL_ERROR, "internal error")]


_OF_ITSELF: Final = Descriptions(results={"rpc.discover": {"$ref": META_SCHEMA}})


def add_discovery(registry: Registry, told: Descriptions, *, title: str, version: Callable[[], str]) -> None:
    """Register `rpc.discover`; later methods appear in its document too."""

    # Writing takes milliseconds, and methods are registered while the node starts.
    written: dict[int, bytes] = {}

    @registry.method("rpc.discover", view=False)
    def discover() -> bytes:
        """Return the OpenRPC document of this network's methods."""
        count = len(registry.methods)
        if count not in written:
            written.clear()
            written[count] = msgspec.json.encode(
                Document(registry, told | _OF_ITSELF).write(title, version())
            )
        return written[count]


def _first_line(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split())
