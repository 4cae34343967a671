"""What the pages link to exists, on a code host as well as in the site."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, anchors, name_of, targets


def fault(page: Path, target: str) -> str:
    """Return what is wrong with a link; empty if nothing is."""
    path, _, anchor = target.partition("#")
    place = (page.parent / path) if path else page
    if not place.exists():
        return f"{target}: no such file"
    if anchor and anchor not in anchors(place):
        return f"{target}: no such heading"
    return ""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_and_their_anchors_exist(page: Path) -> None:
    relative = [target for target in targets(page) if not target.startswith(("http:", "https:"))]
    assert [found for target in relative if (found := fault(page, target))] == []


def test_a_missing_file_and_a_missing_heading_are_found() -> None:
    assert fault(DOCS / "index.md", "nowhere.md") == "nowhere.md: no such file"
    assert (
        fault(DOCS / "index.md", "reference/serving.md#nowhere")
        == "reference/serving.md#nowhere: no such heading"
    )
    assert fault(DOCS / "index.md", "reference/serving.md#keys") == ""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_of_code_in_lists_are_indented_by_four_spaces(page: Path) -> None:
    # With fewer, the site's renderer ends the list.
    assert re.findall(r"^ {1,3}```", page.read_text(), re.MULTILINE) == []
