"""docs/how-to/troubleshooting.md explains messages that there are."""

import re
from functools import cache
from pathlib import Path

import pytest

import wsnode
from tests.docs.pages import DOCS

PACKAGE = Path(wsnode.__file__).parent
ROWS = re.findall(r"^\| (.+?) \| .+ \|$", (DOCS / "how-to/troubleshooting.md").read_text(), re.MULTILINE)
MESSAGES = [text for row in ROWS for text in re.findall(r"`([^`]+ [^`]+)`", row)]


@cache
def sources() -> str:
    """Return the texts of the package, with literals joined that stand on several lines."""
    paths = [*PACKAGE.rglob("*.py"), *(PACKAGE / "native/src").rglob("*.rs")]
    return re.sub(r'" *\n *f?"', "", "\n".join(path.read_text() for path in sorted(paths)))


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_of_the_page_is_one_of_the_node(message: str) -> None:
    parts = [part.strip(" :;,") for part in message.split("…")]
    assert [part for part in parts if part not in sources()] == []


def test_the_page_has_messages() -> None:
    assert len(MESSAGES) > 20
