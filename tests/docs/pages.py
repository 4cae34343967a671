"""The published pages, as text: their headings and where they lead."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.vector_files import CHECKOUT

DOCS: Final = CHECKOUT / "docs"
PAGES: Final = [CHECKOUT / "README.md", *sorted(DOCS.rglob("*.md"))]
_FENCED: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_INLINE: Final = re.compile(r"`[^`]*`")
_LINK: Final = re.compile(r"\]\(([^()\s]+)\)")
_HEADING: Final = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_NO_PART_OF_AN_ANCHOR: Final = re.compile(r"[^\w\- ]")


def name_of(path: Path) -> str:
    """Return a page's path below the checkout."""
    return path.relative_to(CHECKOUT).as_posix()


def prose(path: Path) -> str:
    """Return the text of a page without its blocks of code."""
    return _FENCED.sub("", path.read_text())


def anchors(path: Path) -> set[str]:
    """Return the anchors that a code host gives to a page's headings."""
    given: Counter[str] = Counter()
    found = set()
    for heading in _HEADING.findall(prose(path)):
        anchor = _NO_PART_OF_AN_ANCHOR.sub("", heading.lower()).replace(" ", "-")
        found.add(f"{anchor}-{given[anchor]}" if given[anchor] else anchor)
        given[anchor] += 1
    return found


def targets(path: Path) -> Iterator[str]:
    """Yield what a page links to and shows."""
    return iter(_LINK.findall(_INLINE.sub("", prose(path))))
