"""A browser for all tests of the page, a demo chain to look at, and pages on it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.console.devtools import Page, browser_process, open_page
from tests.node_process import Node, started


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a running browser's protocol."""
    with browser_process(tmp_path_factory.mktemp("profile")) as address:
        yield address


@pytest.fixture(scope="session")
def demo() -> Iterator[Node]:
    """Return a running `wsnode demo`."""
    with started("demo", "--listen", "127.0.0.1:0", "--block-time", "1", "--quiet") as node:
        yield node


@pytest.fixture
async def page(browser: str, demo: Node) -> AsyncIterator[Page]:
    """Return the demo's page, connected; what it writes to its console is a mistake."""
    async with open_page(browser) as page:
        await page.open(demo.bare(demo.http_url))
        await page.until(CONNECTED)
        yield page
        assert page.complaints == []


CONNECTED = (
    "document.getElementById('state').dataset.state === 'open' "
    "&& document.getElementById('method-list').length > 0 "
    "&& document.querySelectorAll('#heads tr').length > 0"
)
