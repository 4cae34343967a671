"""Tables of error codes in docs/reference/errors.md, from the constants and their docstrings."""

import ast
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Final, NamedTuple

from tests.docs.generated.marks import TableWriter, markdown_table
from wsnode.ethereum import codes
from wsnode.jsonrpc import errors
from wsnode.starknet.rpc import errors as starknet_errors

MODULES: Final = {"all": errors, "ethereum": codes, "starknet": starknet_errors}
"""Modules with codes, by the parts of the page."""


class ErrorCode(NamedTuple):
    """Code, its name, and the first sentence of its docstring and the rest of it."""

    code: int
    name: str
    source: str
    meaning: str


def error_codes(module: ModuleType) -> Iterator[ErrorCode]:
    """Yield the codes that a module assigns, in its order.

    Raises:
        ValueError: A code has no docstring.
    """
    body = ast.parse(inspect.getsource(module)).body
    for assigned, behind in zip(body, [*body[1:], None], strict=True):
        name = _assigned_name(assigned)
        if name and _is_code(module, name):
            if not isinstance(behind, ast.Expr) or not isinstance(behind.value, ast.Constant):
                raise ValueError(f"{name} has no docstring")
            source, _, meaning = " ".join(str(behind.value.value).split()).partition(". ")
            yield ErrorCode(vars(module)[name], name, source.removesuffix("."), meaning)


def _assigned_name(statement: ast.stmt) -> str:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return targets[0].id if isinstance(targets[0], ast.Name) else ""


def _is_code(module: ModuleType, name: str) -> bool:
    # Bounds of texts stand beside the codes of JSON-RPC, which are negative.
    value = vars(module)[name]
    return name.isupper() and type(value) is int and (module is not errors or value < 0)


def table(part: str) -> str:
    """Return the table of the codes of JSON-RPC (`all`) or of a family."""
    return markdown_table(
        ("code", "name", "from", "when"),
        (
            (str(each.code), each.name.lower().replace("_", " "), each.source, each.meaning)
            for each in error_codes(MODULES[part])
        ),
    )


WRITER: Final = TableWriter("codes", ["reference/errors.md"], table)
