"""docs/comparison.md says only what a script or a test shows, and its figures are those of performance.md."""

import re

import pytest

from tests.docs.pages import DOCS
from tests.vector_files import CHECKOUT

PAGE = (DOCS / "comparison.md").read_text()
ROWS = re.findall(r"^\| (.+) \| ([^|]*) \|$", PAGE, re.MULTILINE)
SHOWN = [row for row in ROWS if "`bench." in row[1] or "`tests/" in row[1]]
FIGURES = re.findall(r"\d[\d,.]*", " ".join(cells for cells, shown in SHOWN if shown.startswith("`bench.")))


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


@pytest.mark.parametrize("figure", sorted(set(FIGURES)))
def test_its_figures_are_those_of_the_page_of_performance(figure: str) -> None:
    assert re.search(rf"(?<![\d.,]){re.escape(figure)}(?!\d)", (DOCS / "performance.md").read_text())


def test_the_scripts_are_named_in_the_page_of_performance() -> None:
    measured = (DOCS / "performance.md").read_text()
    scripts = {name for _, shown in SHOWN for name in names(shown) if name.startswith("bench.")}
    assert [name for name in sorted(scripts) if name not in measured] == []
