"""Comparison of the table of HTTP statuses with the statuses and error codes in the server's sources."""

import ast
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import wsnode
from wsnode.jsonrpc import errors
from wsnode.server.access.request_errors import HTTP_ERROR_STATUSES

SERVER = Path(wsnode.__file__).parent / "server"
REFUSING = {"HttpRequestRefusedError", "BadContentError", "try_later", "MalformedHeadError"}
CODES = {
    "invalid_request": errors.INVALID_REQUEST,
    "invalid_params": errors.INVALID_PARAMS,
    "limit_exceeded": errors.LIMIT_EXCEEDED,
}
"""Functions that make an error, by the code that it has."""
OF_H11 = {501}
"""Statuses that only the parser gives."""


def refusals() -> Iterator[tuple[int, int | None]]:
    """Yield the statuses that calls spell out, each with the code of its error if they spell that out too."""
    for path in SERVER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in REFUSING
                and node.args
                and isinstance(node.args[0], ast.Constant)
                and isinstance(node.args[0].value, int)
            ):
                yield node.args[0].value, code_of(node.args[1]) if len(node.args) > 1 else None


def code_of(error: ast.expr) -> int | None:
    if not isinstance(error, ast.Call) or not isinstance(error.func, ast.Name):
        return None
    if error.func.id == "RpcError" and isinstance(error.args[0], ast.Name):
        code = getattr(errors, error.args[0].id)
        assert isinstance(code, int)
        return code
    return CODES[error.func.id]


def test_the_table_has_the_statuses_of_the_sources() -> None:
    assert {status for status, _code in refusals()} | {HTTPStatus.UPGRADE_REQUIRED} == (
        HTTP_ERROR_STATUSES.keys() - OF_H11
    )


def test_a_row_has_the_codes_of_the_sources() -> None:
    found = {(status, code) for status, code in refusals() if code is not None}
    rows = {(status, code) for status, each in HTTP_ERROR_STATUSES.items() for code in each.codes}
    assert len(found) > len(HTTP_ERROR_STATUSES) / 2
    assert found - rows == set()


def test_statuses_are_in_order_and_are_errors() -> None:
    assert list(HTTP_ERROR_STATUSES) == sorted(HTTP_ERROR_STATUSES)
    assert all(HTTPStatus(status) >= 400 for status in HTTP_ERROR_STATUSES)
