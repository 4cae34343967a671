from typing import Any

import msgspec

from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import limit_exceeded
from wsnode.jsonrpc.openrpc.document import Descriptions, Document, add_discovery
from wsnode.jsonrpc.openrpc.schema import reference
from wsnode.jsonrpc.registry import Registry


class Colour:
    """A colour by its name."""


class Positional(msgspec.Struct, array_like=True):
    colour: Colour
    often: int = 1


class Named(msgspec.Struct):
    block_id: str


register_type(Colour, lambda value: Colour())


def registry() -> Registry:
    made = Registry()

    @made.method("paint", view=False, deadline=1.0, timeout_error=limit_exceeded("too slow"))
    def paint(params: Positional) -> None:
        """Return what was painted.

        And more.
        """

    @made.method("look", view=False)
    def look(params: Named) -> None:
        """Return what is seen."""

    return made


def document(told: Descriptions) -> dict[str, Any]:
    return Document(registry(), told).write("painters", "1.0")


def test_a_method_is_described_by_its_struct_and_its_docstring() -> None:
    told = Descriptions(types={Colour: {"type": "string"}}, results={"paint": {"type": "null"}})
    written = document(told)
    look, paint = written["methods"]
    assert paint["summary"] == "Return what was painted."
    assert paint["paramStructure"] == "by-position"
    assert paint["params"] == [
        {"name": "colour", "required": True, "schema": reference("Colour")},
        {"name": "often", "required": False, "schema": {"type": "integer"}},
    ]
    assert paint["result"]["schema"] == {"type": "null"}
    assert look["paramStructure"] == "by-name"
    assert written["components"]["schemas"]["Colour"] == {
        "description": "A colour by its name.",
        "type": "string",
    }


def test_errors_are_those_that_the_registry_knows_and_those_that_are_told() -> None:
    look, paint = document(Descriptions(errors={"look": ({"code": 7, "message": "dark"},)}))["methods"]
    assert [error["code"] for error in look["errors"]] == [7, -32602, -32603]
    assert {"code": -32005, "message": "too slow"} in paint["errors"]


def test_a_method_that_comes_later_is_in_the_document_too() -> None:
    made = registry()
    add_discovery(made, Descriptions(), title="painters", version=lambda: "1.0")
    made.method("late", view=False)(lambda: 1)
    discover = made.methods["rpc.discover"].function
    assert len(msgspec.json.decode(discover())["methods"]) == 4
    made.method("later", view=False)(lambda: 1)
    written = msgspec.json.decode(discover())
    assert [method["name"] for method in written["methods"]] == [
        "late",
        "later",
        "look",
        "paint",
        "rpc.discover",
    ]
    assert written["info"] == {"title": "painters", "version": "1.0"}
