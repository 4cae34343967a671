"""Generated tables of the pages are those of the registries."""

import pytest

from tests.docs.generated.marks import MARK, TableWriter, markdown_table, without_tables
from tests.docs.generated.writers import WRITERS
from tests.docs.pages import DOCS

CASES = [(writer, page) for writer in WRITERS for page in writer.pages]


@pytest.mark.parametrize(("writer", "name"), CASES, ids=[f"{each.subject}-{name}" for each, name in CASES])
def test_a_page_has_the_tables_of_its_registry(writer: TableWriter, name: str) -> None:
    page = (DOCS / name).read_text()
    assert any(subject == writer.subject for subject, _ in MARK.findall(page))
    assert page == writer.with_tables(page), "python -m tests.docs.generated"


def test_every_mark_has_a_writer() -> None:
    marked = {
        (subject, path.relative_to(DOCS).as_posix())
        for path in DOCS.rglob("*.md")
        for subject, _ in MARK.findall(path.read_text())
    }
    assert marked == {(writer.subject, name) for writer, name in CASES}


def test_a_subject_has_one_writer() -> None:
    assert len({writer.subject for writer in WRITERS}) == len(WRITERS)


def test_a_table_is_written_behind_its_mark_in_place_of_the_old_one() -> None:
    page = "a\n\n<!-- one: x -->\n| old |\n|---|\n\n<!-- two: x -->\n| other |\n\nb\n"
    writer = TableWriter("one", [], lambda part: f"| {part} |\n")
    written = "a\n\n<!-- one: x -->\n| x |\n\n<!-- two: x -->\n| other |\n\nb\n"
    assert writer.with_tables(page) == written
    assert writer.with_tables(written) == written
    assert without_tables(page) == "a\n\n<!-- one: x -->\n\n<!-- two: x -->\n\nb\n"


def test_a_cell_keeps_its_bars_and_has_no_line_break() -> None:
    assert markdown_table(["a", "b"], [["`x|y`", ""]]) == "| a | b |\n|---|---|\n| `x\\|y` |  |\n"
    with pytest.raises(ValueError, match="line break"):
        markdown_table(["a"], [["x\ny"]])
