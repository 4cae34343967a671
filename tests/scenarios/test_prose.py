"""Published prose is plain: the summaries that rpc.discover writes, and the lines of the documents."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.generated.every_method import every_method_document
from tests.vector_files import CHECKOUT

WIDTH = 110
VAGUER = "whom|whoever|nobody|somebody|everybody|anybody|told|so many|so much|so long"
VAGUE = re.compile(rf"\b(who|the same|{VAGUER})\b", re.IGNORECASE)
"""Words in whose place the field has a noun, in a sentence that stands alone."""
VAGUE_IN_PAGES = re.compile(rf"\b({VAGUER})\b", re.IGNORECASE)
VAGUE_PAGES = ("proved-head.md",)
"""Pages with such words, which have other ones to come."""
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
FOLDERS = ("tutorials", "how-to", "reference", "explanation", "contributing")
PAGES = [
    CHECKOUT / "README.md",
    CHECKOUT / "docs/index.md",
    *sorted(page for folder in FOLDERS for page in (CHECKOUT / "docs" / folder).glob("*.md")),
]
"""Decisions and changes are records, which stay as they were written."""


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the document of a network that has every method."""
    return every_method_document(tmp_path_factory.mktemp("prose"))


def test_each_summary_begins_with_what_the_method_returns(document: Any) -> None:
    others = [each["name"] for each in document["methods"] if not each["summary"].startswith("Return ")]
    assert others == []


def test_no_summary_has_a_vague_word(document: Any) -> None:
    texts = {each["name"]: each["summary"] for each in document["methods"]}
    components = document["components"]["schemas"]
    texts |= {name: schema.get("description", "") for name, schema in components.items()}
    found = {name: VAGUE.findall(text) for name, text in texts.items()}
    assert {name: words for name, words in found.items() if words} == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_of_documents_are_wrapped(page: Path) -> None:
    prose = "".join(page.read_text().split("```")[::2])
    lines = [line for line in prose.splitlines() if not line.startswith(("|", "    "))]
    assert [line for line in lines if len(line) > WIDTH] == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in VAGUE_PAGES], ids=lambda page: page.name
)
def test_no_document_has_a_vague_word(page: Path) -> None:
    prose = CODE.sub("", page.read_text())
    assert [line for line in prose.splitlines() if VAGUE_IN_PAGES.search(line)] == []


def test_the_index_names_every_page() -> None:
    index = (CHECKOUT / "docs" / "index.md").read_text()
    assert [page.name for page in PAGES if page.name != "index.md" and f"{page.name})" not in index] == []
