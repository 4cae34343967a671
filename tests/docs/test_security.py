"""The table of what others may send names tests that there are."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/explanation/security.md"
THREATS, DOORS = PAGE.read_text().split("\n## Doors and bounds\n")
NAMED = re.compile(r"`((?:tests|wsnode)/[\w/]+\.(?:py|rs))::(\w+)`")


def functions_of(path: Path) -> set[str]:
    if path.suffix == ".rs":
        return set(re.findall(r"#\[test\]\s+fn (\w+)\(", path.read_text()))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)}


def test_every_test_that_the_page_names_is_there() -> None:
    named = NAMED.findall(DOORS)
    assert len(named) > 100
    assert [(file, name) for file, name in named if name not in functions_of(ROOT / file)] == []


def test_every_row_has_its_cells() -> None:
    for part in (THREATS, DOORS):
        header, _line, *others = [line for line in part.splitlines() if line.startswith("|")]
        assert len(others) > 5
        assert {row.count("|") for row in others} == {header.count("|")}


def test_every_door_names_a_test() -> None:
    rows = [line for line in DOORS.splitlines() if line.startswith("| ")][1:]
    assert [row for row in rows if not NAMED.search(row)] == []
