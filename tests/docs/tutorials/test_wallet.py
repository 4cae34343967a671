"""The page of docs/tutorials/wallet.md in a browser: a wallet on one's own node."""

import functools
import http.server
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.console.devtools import Page, browser_process, open_page
from tests.docs.pages import DOCS
from tests.node_process import Node, kept_address, post, started

FOLDER = DOCS / "tutorials/wallet"
RECEIVER = "0x" + "77" * 20
OTHER_WALLET = """
window.asked = [];
const provider = { request: async (call) => void asked.push(call), on() {} };
const info = { uuid: "other", name: "Another wallet", icon: "data:,", rdns: "example" };
const tell = () => dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail: { info, provider } }));
addEventListener("eip6963:requestProvider", tell);
"""

pytestmark = pytest.mark.slow


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """Return the address of the page on a local web server, as the guide says."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(FOLDER))
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/wallet.html"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a running browser's protocol."""
    with browser_process(tmp_path_factory.mktemp("profile")) as address:
        yield address


@pytest.fixture
async def page(browser: str) -> AsyncIterator[Page]:
    """Return a page in which another wallet is installed."""
    async with open_page(browser) as page:
        await page.send("Page.addScriptToEvaluateOnNewDocument", source=OTHER_WALLET)
        yield page


@contextmanager
def started_dev(*arguments: str) -> Iterator[Node]:
    with started("dev", "--quiet", *(arguments or ("--listen", "127.0.0.1:0"))) as node:
        yield node


def call(node: Node, method: str, *params: Any) -> Any:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return json.loads(post(node.http_url, json.dumps(request)))["result"]


async def connect(page: Page, url: str) -> None:
    """Have the page connect to a node."""
    await page.evaluate(f"document.getElementById('node').value = {json.dumps(url)}")
    await page.click("connect")


async def use(page: Page, node: Node, site: str) -> None:
    """Have the page use the node as a wallet."""
    await page.open(site)
    await connect(page, node.bare(node.socket_url))
    await page.until("document.getElementById('state').textContent === 'connected to chain 31337'")
    await page.click("use")
    await page.until("document.getElementById('balance').textContent === '10000'")


async def test_it_shows_accounts_and_sends(page: Page, site: str) -> None:
    with started_dev() as node:
        await use(page, node, site)
        assert await page.evaluate(
            "[...document.getElementById('from').options].map(each => each.text)"
        ) == call(node, "eth_accounts")
        await page.evaluate(f"document.getElementById('to').value = '{RECEIVER}'")
        await page.evaluate("document.getElementById('amount').value = '1.25'")
        await page.click("send")
        await page.until("document.querySelectorAll('#heads li').length === 1")
        # The reply may come behind the block.
        await page.until("document.getElementById('sent').textContent !== ''")
        sent = await page.text("sent")
        assert call(node, "eth_getTransactionReceipt", sent)["status"] == "0x1"
        assert int(call(node, "eth_getBalance", RECEIVER, "latest"), 16) == 125 * 10**16


async def test_no_block_is_missing_after_the_node_was_killed(page: Page, site: str, tmp_path: Path) -> None:
    with kept_address() as address:
        dev = functools.partial(started_dev, "--listen", address, "--data", str(tmp_path))
        with dev() as node:
            await use(page, node, site)
            call(node, "anvil_mine", "0x2")
            await page.until("document.querySelectorAll('#heads li').length === 2")
            node.stop(9)
        await page.until(
            "document.getElementById('state').textContent === 'there is no connection to the node'"
        )
        with dev("--block-time", "1") as node:
            await page.until("document.querySelectorAll('#heads li').length >= 5")
            heads = await page.evaluate(
                "[...document.querySelectorAll('#heads li')].map(each => +each.textContent)"
            )
            assert heads == list(range(len(heads), 0, -1))


async def test_it_adds_the_node_to_another_wallet(page: Page, site: str) -> None:
    with started_dev() as node:
        await page.open(site)
        await connect(page, node.bare(node.socket_url))
        await page.evaluate("document.getElementById('wallets').value = 'other'")
        await page.click("add")
        await page.until("asked.length === 1")
        asked = (await page.evaluate("asked"))[0]
        assert asked["method"] == "wallet_addEthereumChain"
        (chain,) = asked["params"]
        assert chain["chainId"] == call(node, "eth_chainId") == "0x7a69"
        request = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
        assert json.loads(post(chain["rpcUrls"][0], request))["result"] == chain["chainId"]


async def test_a_page_that_is_no_page_of_this_machine_needs_leave(page: Page) -> None:
    await page.open((FOLDER / "wallet.html").as_uri())
    with started_dev() as node:
        await connect(page, node.bare(node.socket_url))
        await page.until(
            "document.getElementById('state').textContent === 'there is no connection to the node'"
        )
    with started_dev("--listen", "127.0.0.1:0", "--origin", "*") as node:
        await connect(page, node.bare(node.socket_url))
        await page.until("document.getElementById('state').textContent === 'connected to chain 31337'")


async def test_another_node_takes_the_place_of_the_one_before(page: Page, site: str) -> None:
    await page.open(site)
    with started_dev() as first, started_dev("--listen", "127.0.0.1:0", "--chain-id", "7") as second:
        await connect(page, first.bare(first.socket_url))
        await page.until("document.getElementById('state').textContent === 'connected to chain 31337'")
        await connect(page, second.bare(second.socket_url))
        await page.until("document.getElementById('state').textContent === 'connected to chain 7'")
        await page.until("[...wallets.values()].filter((wallet) => wallet.isConnected?.()).length === 1")
        first.stop()
        assert await page.text("state") == "connected to chain 7"
