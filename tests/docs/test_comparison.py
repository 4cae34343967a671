"""Figures of the comparison and of the page of performance are those of runs in bench/results."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import DOCS
from tests.vector_files import CHECKOUT

PAGE = (DOCS / "explanation/comparison.md").read_text()
ROWS = re.findall(r"^\| (.+) \| ([^|]*) \|$", PAGE, re.MULTILINE)
SHOWN = [row for row in ROWS if "`bench." in row[1] or "`tests/" in row[1]]


def names(shown: str) -> list[str]:
    return re.findall(r"`([^`]+)`", shown)


def exists(name: str) -> bool:
    """Return whether there is a script `bench.…`, or a test `PATH` or `PATH::NAME`."""
    if name.startswith("bench."):
        return (CHECKOUT / f"{name.replace('.', '/')}.py").is_file()
    path, _, function = name.partition("::")
    place = CHECKOUT / path
    return place.is_file() and re.search(rf"def {function or 'test_'}", place.read_text()) is not None


def test_every_table_that_compares_says_what_shows_it() -> None:
    tables = re.findall(r"^## (.+)\n(?:(?!^## )[\s\S])*", PAGE, re.MULTILINE)
    assert tables == ["What each is for", "What a client can rely on", "Figures", "Development chains"]
    assert [row for row in ROWS if row not in SHOWN and "shown by" not in row[1] and names(row[1])] == []
    after = PAGE[PAGE.index("## What a client can rely on") :]
    told = [
        row for row in re.findall(r"^\| (.+) \| ([^|]*) \|$", after, re.MULTILINE) if row[1] != "shown by"
    ]
    assert told == SHOWN


@pytest.mark.parametrize("name", sorted({name for _, shown in SHOWN for name in names(shown)}))
def test_what_shows_it_exists(name: str) -> None:
    assert exists(name)
    assert not exists(name + "x")


MEASURED = (DOCS / "explanation/performance.md").read_text()
RESULTS = sorted((CHECKOUT / "bench/results").glob("*.json"))
SCRIPT = re.compile(r"bench\.\w+(?:\.\w+)*|tests/[\w/.]+")


def figures(text: str) -> set[str]:
    """Return the numbers of a text, without what separates their thousands."""
    found = re.findall(r"\d+(?:\.\d+)?", re.sub(r"(?<=\d),(?=\d{3})", "", text))
    return {str(float(figure)) for figure in found}


def measured() -> Iterator[tuple[str, str, str, Path]]:
    """Yield each row's figures, script, date and file; an empty cell repeats the one above."""
    script = date = file = ""
    for row in re.findall(r"^\| (?!measured).*\|$", MEASURED, re.MULTILINE):
        _case, *cells, shown, link = (cell.strip() for cell in row[1:-1].split("|"))
        if shown:
            script, date = shown.replace("`", "").split(", ")
        if link:
            file = link.partition("](")[2].removesuffix(")")
        yield " ".join(cells), script, date, DOCS / "explanation" / file


def runs(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["runs"]
    return found


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_each_run_says_where_it_is_from(path: Path) -> None:
    assert "cores" in json.loads(path.read_text())["machine"]
    for run in runs(path):
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", run["date"])
        assert run["conditions"]
        assert run.get("rows") or run.get("notes")
        scripts = SCRIPT.findall(run["script"])
        assert scripts
        places = [each if each.startswith("tests/") else each.replace(".", "/") for each in scripts]
        assert [
            each for each in places if not any((CHECKOUT / f"{each}{end}").exists() for end in ("", ".py"))
        ] == []


def test_the_page_of_performance_has_figures_of_its_runs_alone() -> None:
    rows = list(measured())
    assert len(rows) > 40
    for cells, script, date, path in rows:
        texts = [json.dumps(run) for run in runs(path) if script.split()[0] in run["script"]]
        assert texts, (script, path)
        assert any(date in text for text in texts), (script, date)
        assert figures(cells) <= figures(" ".join(texts)), cells


@pytest.mark.parametrize(("cells", "shown"), [row for row in SHOWN if row[1].startswith("`bench.")])
def test_its_figures_are_those_of_the_runs(cells: str, shown: str) -> None:
    found = [json.dumps(run) for path in RESULTS for run in runs(path) if names(shown)[0] in run["script"]]
    _, *measured = cells.split(" | ")
    assert figures(" ".join(measured)) <= figures(" ".join(found))


def test_the_scripts_are_named_in_the_page_of_performance() -> None:
    scripts = {name for _, shown in SHOWN for name in names(shown) if name.startswith("bench.")}
    assert [name for name in sorted(scripts) if name not in MEASURED] == []
