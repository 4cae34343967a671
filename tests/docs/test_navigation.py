"""The site's navigation and the index name every page."""

from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, targets
from tests.vector_files import CHECKOUT

LISTED = [page for page in PAGES if DOCS in page.parents and page.parent.name != "decisions"]
"""The site lists decisions by itself."""


@pytest.mark.parametrize("page", LISTED, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_the_navigation_names_every_page(page: Path) -> None:
    entries = [
        line.split()[-1] for line in (CHECKOUT / "mkdocs.yml").read_text().splitlines() if line.strip()
    ]
    assert entries.count(page.relative_to(DOCS).as_posix()) == 1


def test_the_index_leads_to_every_page() -> None:
    linked = {(DOCS / target.partition("#")[0]).resolve() for target in targets(DOCS / "index.md")}
    assert [page for page in LISTED if page not in linked and page.name != "index.md"] == []
