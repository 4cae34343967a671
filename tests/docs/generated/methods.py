"""Tables of all methods of a family, from the OpenRPC document of a network that has every method."""

import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

from tests.docs.generated.every_method import every_method_document
from tests.docs.generated.marks import TableWriter, markdown_table

STARKNET: Final = ("alt_", "starknet_")


@cache
def _document() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return every_method_document(Path(folder))


def table(part: str) -> str:
    """Return the table of the methods of a family, `ethereum` or `starknet`, by name.

    Methods under `starknet_` have the parameters and results of those under `alt_`, which stand for both.
    """
    methods = [each for each in _document()["methods"] if _family(each["name"]) == part]
    return markdown_table(
        ("method", "parameters", "result"),
        ((f"`{each['name']}`", _parameters(each), _result(each)) for each in methods),
    )


def _family(name: str) -> str:
    if name.startswith(STARKNET):
        return "starknet" if name.startswith("alt_") else "twin"
    return "ethereum"


def _parameters(method: dict[str, Any]) -> str:
    names = (each["name"] if each.get("required") else f"{each['name']}?" for each in method["params"])
    return ", ".join(f"`{name}`" for name in names)


def _result(method: dict[str, Any]) -> str:
    summary: str = method["summary"]
    return summary.removeprefix("Return ")


WRITER: Final = TableWriter("methods", ["reference/methods.md", "reference/starknet.md"], table)
