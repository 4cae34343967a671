"""The documentation as a site, built and looked at in a browser, opened as files are."""

import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.console.devtools import Page, browser_process, open_page
from tests.vector_files import CHECKOUT

NARROW = 360
FOUND = "document.querySelectorAll('.md-search-result__item').length > 0"
UNSEEN = "[...document.images].filter(image => !image.complete || image.naturalWidth === 0).length"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the built site; the tests are skipped where nothing builds it."""
    if (mkdocs := shutil.which("mkdocs")) is None:
        pytest.skip("no `mkdocs`: `pip install -e '.[docs]'`")
    folder = tmp_path_factory.mktemp("site")
    # With `--quiet` a warning would not end the build.
    command = [mkdocs, "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a running browser's protocol."""
    with browser_process(tmp_path_factory.mktemp("profile")) as address:
        yield address


@pytest.fixture
async def page(browser: str, site: Path) -> AsyncIterator[Page]:
    """Return the site's first page; all that it asks for is in the site."""
    async with open_page(browser) as page:
        await page.open(f"{site.as_uri()}/index.html")
        yield page
        assert [url for url in page.requests if not url.startswith((site.as_uri(), "data:"))] == []
        assert page.complaints == []


def pages(site: Path) -> list[Path]:
    """Return all pages but the one for addresses that no page has, whose links are those of a server."""
    return sorted(set(site.rglob("*.html")) - {site / "404.html"})


async def test_the_search_finds_a_word_without_a_server(page: Page) -> None:
    await page.evaluate("document.querySelector('.md-search__input').focus()")
    await page.type("wsnode_getLogsPage")
    # A text that is inserted comes without one; the page looks at it with a key, or when its index is there.
    await page.send("Input.dispatchKeyEvent", type="keyUp", key="e", code="KeyE")
    await page.until(FOUND)
    found = await page.evaluate("document.querySelector('.md-search-result__link').href")
    assert found.startswith("file:")


async def test_every_page_fits_a_telephone_and_shows_its_pictures(page: Page, site: Path) -> None:
    await page.resize(NARROW, 740, mobile=True)
    wrong = {}
    for path in pages(site):
        await page.open(path.as_uri())
        width, unseen = await page.evaluate(f"[document.documentElement.scrollWidth, {UNSEEN}]")
        if width > NARROW or unseen:
            wrong[path.relative_to(site).as_posix()] = width, unseen
    assert wrong == {}


async def test_a_link_to_a_source_file_leads_to_its_text(page: Page, site: Path) -> None:
    await page.open(f"{site.as_uri()}/reference/serving.html")
    link = await page.evaluate(
        "[...document.querySelectorAll('a')].find(each => each.textContent.includes('wsnode.service')).href"
    )
    await page.open(link)
    shown = await page.evaluate("document.querySelector('pre').textContent")
    assert shown.strip() == (CHECKOUT / "deploy/wsnode.service").read_text().strip()
