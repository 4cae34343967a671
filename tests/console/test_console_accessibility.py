"""The page by axe-core's rules, in the colours and sizes that it has."""

import json
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from tests.console.devtools import Page

pytestmark = pytest.mark.slow

FOLDER: Final = Path(__file__).parent
VARIABLE: Final = "WSNODE_CONSOLE"
VIOLATIONS = """axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations.map(
  ({ id, impact, nodes }) => [id, impact, nodes.map(({ html, failureSummary }) => [html, failureSummary])]
))"""


def candidates() -> Iterator[Path]:
    if named := os.environ.get(VARIABLE):
        yield Path(named) / "node_modules"
    yield FOLDER / "node_modules"


@pytest.fixture(scope="module")
def axe() -> str:
    """The rules; the test is skipped where they are not installed."""
    for modules in candidates():
        if (file := modules / "axe-core/axe.min.js").is_file():
            return file.read_text()
    pytest.skip(f"no axe-core: `npm ci` in tests/console, or in a folder that {VARIABLE} names")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
async def test_nothing_hinders_anybody(page: Page, axe: str, scheme: str, width: int) -> None:
    await page.prefer(scheme)
    await page.resize(width, 800, mobile=width < 500)
    await page.click("resume-start")
    await page.evaluate("document.getElementById('watch-form').requestSubmit()")
    await page.until("document.querySelectorAll('#watch-rows tr').length > 0")
    await page.evaluate("document.querySelector('#metrics summary').click()")
    await page.evaluate("document.getElementById('call-form').requestSubmit()")
    await page.until("document.getElementById('reply').textContent !== ''")
    await page.until("document.querySelectorAll('#metrics-rows tr').length > 0")
    await page.evaluate(f"{axe}; 0")
    found = await page.evaluate(VIOLATIONS)
    assert found == [], json.dumps(found, indent=1)


async def test_what_is_told_aloud_is_told_one_thing_at_a_time(page: Page) -> None:
    record = """globalThis.told = []; new MutationObserver(() => told.push([performance.now(),
      document.getElementById("announcer").textContent])).observe(
      document.getElementById("announcer"), { childList: true, characterData: true, subtree: true }); 0"""
    await page.evaluate(record)
    await page.click("resume-start")
    await page.evaluate("document.getElementById('resume-away').value = '0'")
    for drops in range(1, 4):
        await page.until("document.getElementById('resume-drop').ariaDisabled === 'false'")
        await page.click("resume-drop")
        await page.until(f"document.getElementById('resume-drops').textContent === '{drops}'")
    await page.until("told.length > 0")
    await page.click("resume-start")
    await page.until("document.getElementById('announcer').textContent === 'Stopped'")
    # Blocks and logs arrive all the time and are not announced at all.
    assert await page.evaluate("[...document.querySelectorAll('[aria-live]')].map(({ id }) => id)") == [
        "announcer"
    ]
    times = [time for time, _text in await page.evaluate("told")]
    # Three seconds lie between two; the first may be noticed late where the browser has no turn.
    assert all(later - earlier > 1_000 for earlier, later in pairwise(times))
