"""Takes the pictures of docs/how-to/console.md: `python -m tests.console.screenshots`, with pngquant."""

import base64
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import trio

from tests.console.conftest import CONNECTED
from tests.console.devtools import Page, browser_process, open_page
from tests.node_process import Node, started

DOCS: Final = Path(__file__).parents[2] / "docs"
WIDTH: Final = 1180
CAN_DROP: Final = "document.getElementById('resume-drop').ariaDisabled === 'false'"


async def take(page: Page, name: str, first: str, last: str) -> None:
    """Write a picture of all between the upper edge of one element and the lower edge of another."""
    edge = "document.querySelector('{}').getBoundingClientRect().{} + scrollY"
    top = await page.evaluate(edge.format(first, "top"))
    bottom = await page.evaluate(edge.format(last, "bottom"))
    clip = {"x": 0, "y": max(0, top - 12), "width": WIDTH, "height": bottom - top + 20, "scale": 1}
    taken = await page.send("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
    # The colours of a page are few.
    command = ["pngquant", "--nofs", "--strip", "64", "-"]
    picture = base64.b64decode(taken["data"])
    done = await trio.run_process(command, stdin=picture, capture_stdout=True)
    (DOCS / name).write_bytes(done.stdout)


async def show_resuming(page: Page) -> None:
    """Drop a subscription among live blocks, and wait until it has caught up and gone on."""
    await page.until("document.querySelectorAll('#heads tr').length > 20")
    await page.click("resume-start")
    await page.until(CAN_DROP)
    await page.until("document.getElementById('resume-checked').textContent !== '–'")
    await page.evaluate("document.getElementById('resume-away').value = '5'")
    await page.click("resume-drop")
    await page.until(CAN_DROP)
    await page.until("document.querySelectorAll('#resume-strip .replayed').length > 3")
    first = await page.text("resume-checked")
    await page.until(f"Number(document.getElementById('resume-checked').textContent) > {first} + 8")


async def show_method(page: Page) -> None:
    """Call a method by its form."""
    await page.evaluate("document.getElementById('method-list').value = 'eth_feeHistory'")
    await page.evaluate("document.getElementById('method-list').dispatchEvent(new Event('change'))")
    for name, value in (("count", "4"), ("newest", "latest"), ("percentiles", "[10, 50, 90]")):
        await page.evaluate(f"document.getElementById('parameter-{name}').focus()")
        await page.evaluate("document.activeElement.value = ''")
        await page.type(value)
    await page.evaluate("document.activeElement.blur()")
    await page.evaluate("document.getElementById('call-form').requestSubmit()")
    await page.until("document.getElementById('reply').textContent !== ''")


async def take_all(node: Node, browser: str) -> None:
    """Take every picture of a demo."""
    async with open_page(browser) as page:
        await page.resize(WIDTH, 900)
        await page.prefer("light")
        await page.open(node.bare(node.http_url))
        await page.until(CONNECTED)
        await show_resuming(page)
        await take(page, "console.png", "body > header", "#resume")
        await page.prefer("dark")
        await show_method(page)
        await take(page, "console-methods.png", "#explorer", "#explorer")


def main() -> None:
    """Start a demo and a browser, and take the pictures."""
    demo = started("demo", "--listen", "127.0.0.1:0", "--block-time", "1", "--quiet")
    with TemporaryDirectory() as folder, demo as node, browser_process(Path(folder)) as browser:
        trio.run(take_all, node, browser)


if __name__ == "__main__":
    main()
