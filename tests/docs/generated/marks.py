"""Tables behind marks `<!-- subject: part -->` in pages."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.docs.pages import DOCS

MARK: Final = re.compile(r"^<!-- (\w+): ([^>]+?) -->\n", re.MULTILINE)
"""Mark in front of a generated table: its subject and its part, which may have several lines."""
_MARKED_TABLE: Final = re.compile(rf"({MARK.pattern})((?:\|.*\n)*)", re.MULTILINE)


class TableWriter(NamedTuple):
    """Writer of the tables of one subject."""

    subject: str
    pages: Sequence[str]
    """Paths of the pages with its marks, below docs/."""
    table: Callable[[str], str]
    """Function that returns the table of the part that a mark names."""

    def with_tables(self, page: str) -> str:
        """Return the text of a page with the subject's tables behind its marks, in place of the old ones."""

        def write(marked: re.Match[str]) -> str:
            return marked[1] + self.table(marked[3]) if marked[2] == self.subject else marked[0]

        return _MARKED_TABLE.sub(write, page)

    @property
    def paths(self) -> list[Path]:
        """Return the paths of the pages."""
        return [DOCS / page for page in self.pages]

    def write(self) -> None:
        """Write the tables into the pages."""
        for path in self.paths:
            path.write_text(self.with_tables(path.read_text()))


def without_tables(page: str) -> str:
    """Return the text of a page without its generated tables."""
    return _MARKED_TABLE.sub(r"\1", page)


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown; cells keep their Markdown, except for vertical bars.

    Raises:
        ValueError: A cell has a line break.
    """
    lines = [head, ["---"] * len(head), *rows]
    return "".join(_line(cells) for cells in lines)


def _line(cells: Sequence[str]) -> str:
    if any("\n" in cell for cell in cells):
        raise ValueError(f"a cell has a line break: {cells}")
    separator = "|" if cells[0] == "---" else " | "
    joined = separator.join(cell.replace("|", r"\|") for cell in cells)
    return f"|{joined}|\n" if cells[0] == "---" else f"| {joined} |\n"
