"""The navigation and the index name every page; decisions have a title, a status and a row of their index."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, targets
from tests.vector_files import CHECKOUT

LISTED = [page for page in PAGES if DOCS in page.parents and "decisions/0" not in page.as_posix()]
"""All but single decisions, which their index names."""
DECISION_FOLDER = DOCS / "decisions"
DECISIONS = sorted(DECISION_FOLDER.glob("[0-9]*.md"))
NUMBERS = {path.name[:4] for path in DECISIONS}
READERS = ("docs", "wsnode", "tests", "bench", "deploy", "README.md", "CONTRIBUTING.md", "HARDFORK.md")
SOURCES = (".md", ".py", ".rs", ".toml", ".js", ".yml")
STATUS = re.compile(r"Status: (proposed|accepted|accepted, in work|superseded by \d{4}), \d{4}-\d\d-\d\d\.")
NAMED = re.compile(r"decisions?[ /](\d{4})\b")


@pytest.mark.parametrize("page", LISTED, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_the_navigation_names_every_page(page: Path) -> None:
    entries = [
        line.split()[-1] for line in (CHECKOUT / "mkdocs.yml").read_text().splitlines() if line.strip()
    ]
    assert entries.count(page.relative_to(DOCS).as_posix()) == 1


def test_the_index_leads_to_every_page() -> None:
    linked = {(DOCS / target.partition("#")[0]).resolve() for target in targets(DOCS / "index.md")}
    assert [page for page in LISTED if page not in linked and page.name != "index.md"] == []


def sources() -> list[Path]:
    """Return all files that may name a decision."""
    found = [path for name in READERS for path in (CHECKOUT / name, *(CHECKOUT / name).rglob("*"))]
    return [path for path in found if path.suffix in SOURCES and path.is_file()]


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_has_a_title_a_status_and_a_row_of_the_index(path: Path) -> None:
    title, _, status, *_ = path.read_text().splitlines()
    assert re.fullmatch(r"# Use .+ for .+", title)
    found = STATUS.fullmatch(status)
    assert found is not None, status
    row = f"| {path.name[:4]} | [{title.removeprefix('# ')}]({path.name}) | {found[1]} |"
    assert (DECISION_FOLDER / "README.md").read_text().splitlines().count(row) == 1


def test_the_index_names_only_what_is_there() -> None:
    rows = re.findall(r"^\| (\d{4}) \|", (DECISION_FOLDER / "README.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(NUMBERS)


def test_nothing_names_a_decision_that_is_gone() -> None:
    named = [(path.name, number) for path in sources() for number in NAMED.findall(path.read_text())]
    assert "event_loop.py" in {name for name, _ in named}
    assert [each for each in named if each[1] not in NUMBERS] == []
