from typing import Any

import msgspec

from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import RpcError, limit_exceeded
from wsnode.jsonrpc.openrpc.document import OpenRpcWriter, add_discovery
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import NULL, STRING, reference


class Colour:
    """A colour by its name."""


class Positional(msgspec.Struct, array_like=True):
    colour: Colour
    often: int = 1


class Named(msgspec.Struct):
    block_id: str


register_type(Colour, lambda value: Colour(), STRING)


def registry() -> Registry:
    made = Registry()
    late = limit_exceeded("too slow")

    @made.method("paint", view=False, result=NULL, deadline=1.0, timeout_error=late)
    def paint(params: Positional) -> None:
        """Return what was painted.

        And more.
        """

    @made.method("look", view=False, result=reference("View"), errors=(RpcError(7, "dark"),))
    def look(params: Named) -> None:
        """Return what is seen."""

    made.define({"View": STRING})
    return made


def document() -> dict[str, Any]:
    return OpenRpcWriter(registry()).write("painters", "1.0")


def test_a_method_is_described_by_its_struct_its_docstring_and_its_registration() -> None:
    written = document()
    look, paint = written["methods"]
    assert paint["summary"] == "Return what was painted."
    assert paint["paramStructure"] == "by-position"
    assert paint["params"] == [
        {"name": "colour", "required": True, "schema": reference("Colour")},
        {"name": "often", "required": False, "schema": {"type": "integer"}},
    ]
    assert paint["result"] == {"name": "result", "description": "What was painted.", "schema": NULL}
    assert look["paramStructure"] == "by-name"
    assert look["result"]["schema"] == reference("View")
    assert written["components"]["schemas"] == {
        "Colour": {"description": "A colour by its name.", **STRING},
        "View": STRING,
    }


def test_errors_are_those_of_the_method_and_those_of_every_method() -> None:
    look, paint = document()["methods"]
    assert [error["code"] for error in look["errors"]] == [7, -32602, -32603]
    assert {"code": -32005, "message": "too slow"} in paint["errors"]


def test_a_method_that_comes_later_is_in_the_document_too() -> None:
    made = registry()
    add_discovery(made, title="painters", version=lambda: "1.0")
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
