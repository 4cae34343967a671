"""docs/reference/operating.md names every field and every logger of the log."""

import ast
import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import wsnode
from wsnode.server.observability.logs import JsonFormatter

pytestmark = pytest.mark.slow

PACKAGE = Path(wsnode.__file__).parent
PAGE = (PACKAGE.parent / "docs/reference/operating.md").read_text().split("## The log")[1]


def trees() -> Iterator[ast.Module]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if "details" in (text := path.read_text()) or "getLogger" in text:
            yield ast.parse(text)


def keys(node: ast.AST, tree: ast.Module) -> Iterator[str]:
    """Yield the keys of a dictionary, or of those that a name stands for."""
    if isinstance(node, ast.Name):
        for each in ast.walk(tree):
            if isinstance(each, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == node.id for target in each.targets
            ):
                yield from keys(each.value, tree)
    elif isinstance(node, ast.Dict):
        yield from (str(key.value) for key in node.keys if isinstance(key, ast.Constant))


def details() -> Iterator[str]:
    """Yield the names of details that the code gives to lines."""
    for tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and node.arg == "extra" and isinstance(node.value, ast.Dict):
                for value in node.value.values:
                    yield from keys(value, tree)
            elif isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Attribute) and target.attr == "details" for target in node.targets
            ):
                yield from keys(node.value, tree)


def fields() -> set[str]:
    """Return the fields of a line without details, with a traceback."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger = logging.Logger("test")
    logger.addHandler(handler)
    try:
        raise ValueError
    except ValueError:
        logger.exception("failed")
    return set(json.loads(stream.getvalue()))


def test_the_page_names_every_field() -> None:
    found = set(details())
    assert {"method", "seconds", "params", "left_out", "worker"} <= found
    table = PAGE.split("| logger |")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.M)) == found | fields()


def test_the_page_names_every_logger() -> None:
    calls = (node for tree in trees() for node in ast.walk(tree) if isinstance(node, ast.Call))
    made = {
        call.args[0].value
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "getLogger"
        and isinstance(call.args[0], ast.Constant)
    }
    table = PAGE.split("| logger |")[1]
    # Others' loggers are made quiet by their names.
    ours = {name for name in made if str(name).startswith("wsnode.")}
    assert set(re.findall(r"`(wsnode\.[\w.]+)`", table)) == ours
