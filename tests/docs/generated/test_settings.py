"""The page of settings has a table for each section of the configuration file."""

import re
from typing import Annotated

import msgspec
import pytest

from tests.docs.generated.marks import MARK
from tests.docs.generated.settings import LIMITS, PAGE, ROOT, WRITER, field_docstrings, sections, table
from tests.docs.pages import DOCS
from wsnode.node.config_file import KNOWN, KnownNames

SETTING = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)


def known(names: KnownNames, path: str = ROOT) -> dict[str, list[str]]:
    """Return the names of settings that the reader of files accepts, by the path of their table."""
    prefix = "" if path == ROOT else f"{path}."
    found = {path: list(names.names)} if names.names else {}
    for name, inner in names.tables.items():
        found |= known(inner, f"{prefix}{'NAME' if name == '*' else name}")
    return found


def test_the_page_has_each_section_once() -> None:
    marked = [part for subject, part in MARK.findall((DOCS / PAGE).read_text()) if subject == WRITER.subject]
    assert sorted(marked) == sorted(sections())


@pytest.mark.parametrize("part", sections())
def test_a_section_is_under_a_heading_with_its_name(part: str) -> None:
    section = (DOCS / PAGE).read_text().partition(f"<!-- settings: {part} -->")[0].rpartition("\n## ")[2]
    assert section.startswith("Settings of the node" if part == ROOT else f"`[{part}]`\n")


def test_the_tables_have_the_settings_that_a_file_may_have() -> None:
    accepted = known(KNOWN)
    del accepted[LIMITS]
    assert {part: SETTING.findall(table(part)) for part in sections()} == accepted


def test_a_row_has_type_bounds_default_and_meaning() -> None:
    rows = table("networks.NAME.follow").splitlines()
    assert rows[2].startswith("| `upstreams` | list of strings, 1 to 32 | required | URLs of the nodes")
    assert rows[3].startswith("| `agree` | integer, at least 1 |  | Number of upstreams that must have")
    assert rows[4].startswith("| `max_lag` | integer, 0 to 1,000,000 | `2` | Blocks by which")
    assert rows[7].startswith("| `window` | integer, 1 to 1,000,000,000 or string |  | Number of blocks")
    assert rows[10].startswith('| `head` | `"announced"` or `"proved"` |  | Head that is served')
    assert (
        table("networks.NAME.partner")
        .splitlines()[3]
        .startswith("| `stale_after` | number, above 0, at most 1e+15 | `60` | Age of the head in seconds")
    )


def test_a_field_without_a_docstring_has_no_meaning() -> None:
    assert field_docstrings(Documented) == {"first": "First field, with a `name`, in two lines."}


class Documented(msgspec.Struct):
    """Struct of two fields."""

    first: Annotated[int, msgspec.Meta(ge=1)] = 1
    """First field, with a `name`,
    in two lines.
    """
    second: int = 2
