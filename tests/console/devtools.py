"""A browser driven over the Chrome DevTools Protocol: its pages, keys pressed in them, and what they say."""

import json
import shutil
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from trio_websocket import ConnectionClosed, open_websocket_url

from tests.node_process import PATIENCE

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
OPTIONS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-port=0",
)
# Virtual key codes, without which Chromium does not do what a key does.
KEYS: Final = {"Tab": 9, "Enter": 13, " ": 32, "ArrowDown": 40, "ArrowUp": 38, "Escape": 27}


def require_browser() -> str:
    """Return the path of a browser; the test is skipped where there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(f"no {', '.join(NAMES)} on the path: `apt-get install chromium`")
    return found


@contextmanager
def browser_process(folder: Path) -> Iterator[str]:
    """Start a browser with a profile in `folder`, and give the address of its protocol."""
    command = [require_browser(), *OPTIONS, f"--user-data-dir={folder}", "about:blank"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    # A full pipe would stop it, so what it complains of later is read.
    rest = threading.Thread(target=process.stderr.read)
    try:
        said = next((line for line in process.stderr if line.startswith("DevTools listening on ")), "")
        assert said, "the browser ended before it was ready"
        rest.start()
        yield said.removeprefix("DevTools listening on ").strip()
    finally:
        process.terminate()
        process.wait(PATIENCE)
        if rest.ident is not None:
            rest.join()
        process.stderr.close()


class Page:
    """One page, in a context of its own: no other test's cache or storage."""

    def __init__(self, session: "Session", identity: str) -> None:
        self._session, self._identity = session, identity
        self.complaints: list[str] = []
        """What it wrote to its console, exceptions and refused resources among it."""
        self.requests: list[str] = []
        """The addresses that it asked for."""

    async def send(self, method: str, **parameters: Any) -> Any:
        """Return the result of a method of the protocol."""
        return await self._session.send(method, parameters, self._identity)

    async def open(self, url: str) -> None:
        """Load `url`, and wait until the page's modules have run."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.send(f"{domain}.enable")
        await self.send("Page.navigate", url=url)
        await self.until(f"location.href === {json.dumps(url)} && document.readyState === 'complete'")

    async def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, awaited if it is a promise."""
        answer = await self.send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def until(self, condition: str) -> None:
        """Wait until a JavaScript condition holds."""
        with trio.move_on_after(PATIENCE):
            # What is waited for happens in the browser, which has no event for it.
            while not await self.evaluate(f"Boolean({condition})"):  # noqa: ASYNC110
                await trio.sleep(0.05)
            return
        raise AssertionError(f"in vain: {condition}; {self.complaints}")

    async def text(self, identity: str) -> str:
        """Return the text of the element with an id."""
        found: str = await self.evaluate(f"document.getElementById({json.dumps(identity)}).textContent")
        return found

    async def click(self, identity: str) -> None:
        """Click the element with an id."""
        await self.evaluate(f"document.getElementById({json.dumps(identity)}).click()")

    async def press(self, key: str) -> None:
        """Press a key, and let it go."""
        named = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
        text = {"text": "\r"} if key == "Enter" else {"text": " "} if key == " " else {}
        await self.send("Input.dispatchKeyEvent", type="keyDown", **named, **text)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **named)

    async def type(self, text: str) -> None:
        """Type a text where the focus is."""
        await self.send("Input.insertText", text=text)

    async def focused(self) -> str:
        """Return the id, or else the tag, of the element that has the focus."""
        found: str = await self.evaluate("document.activeElement.id || document.activeElement.tagName")
        return found

    async def resize(self, width: int, height: int, *, mobile: bool = False) -> None:
        """Give the page a size in CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        await self.send("Emulation.setDeviceMetricsOverride", **size)

    async def prefer(self, scheme: str) -> None:
        """Let the user prefer a `light` or a `dark` page."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        await self.send("Emulation.setEmulatedMedia", features=features)

    def take(self, method: str, parameters: dict[str, Any]) -> None:
        """Keep what an event of the protocol says."""
        if method == "Runtime.consoleAPICalled":
            said = (str(each.get("value", each.get("description"))) for each in parameters["args"])
            self.complaints.append(" ".join(said))
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            entry = parameters["entry"]
            self.complaints.append(f"{entry['text']} {entry.get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.requests.append(parameters["url"])


class Session:
    """The connection to a browser."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._count = 0
        self._replies: dict[int, trio.MemorySendChannel[dict[str, Any]]] = {}
        self._pages: dict[str, Page] = {}

    async def send(self, method: str, parameters: dict[str, Any], page: str | None = None) -> Any:
        """Return the result of a method of the protocol, in a page if one is named."""
        self._count += 1
        number = self._count
        reply, arrived = trio.open_memory_channel[dict[str, Any]](1)
        self._replies[number] = reply
        named = {} if page is None else {"sessionId": page}
        request = {"id": number, "method": method, "params": parameters, **named}
        await self._socket.send_message(json.dumps(request))
        with trio.fail_after(PATIENCE):
            message = await arrived.receive()
        assert "error" not in message, message["error"]
        return message["result"]

    async def receive(self) -> None:
        """Hand out what comes until the connection ends."""
        while True:
            try:
                message = json.loads(await self._socket.get_message())
            except ConnectionClosed:
                return
            if "id" in message:
                self._replies.pop(message["id"]).send_nowait(message)
            elif (page := self._pages.get(message.get("sessionId", ""))) is not None:
                page.take(message["method"], message["params"])

    @asynccontextmanager
    async def page(self) -> AsyncIterator[Page]:
        """Open a page in a new context."""
        context = (await self.send("Target.createBrowserContext", {}))["browserContextId"]
        place = {"url": "about:blank", "browserContextId": context}
        target = (await self.send("Target.createTarget", place))["targetId"]
        attached = await self.send("Target.attachToTarget", {"targetId": target, "flatten": True})
        page = Page(self, attached["sessionId"])
        self._pages[attached["sessionId"]] = page
        try:
            yield page
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 5):
                await self.send("Target.disposeBrowserContext", {"browserContextId": context})


@asynccontextmanager
async def open_page(address: str) -> AsyncIterator[Page]:
    """Open a page of the browser whose protocol is at `address`."""
    async with trio.open_nursery() as nursery:
        async with open_websocket_url(address, max_message_size=64 * 1024 * 1024) as socket:
            session = Session(socket)
            nursery.start_soon(session.receive)
            async with session.page() as page:
                yield page
        nursery.cancel_scope.cancel()
