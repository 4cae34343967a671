"""Files by GET: which requests get them, with which headers, and that nothing else changes."""

import pytest

from tests.server.conftest import NUMBER, OpenSite, Site
from tests.server.http.test_connection import Answer, client
from wsnode.server.access.origin_policy import OriginPolicy
from wsnode.server.http.responses import StaticFile

PAGE = StaticFile(b"<p>page</p>", "text/html; charset=utf-8", {"X-Of": "page"}, named_only=True)
SCRIPT = StaticFile(b"let x", "text/javascript; charset=utf-8")
FILES = {"/": PAGE, "/page/x.js": SCRIPT}
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


async def get(site: Site, target: str = "/", method: str = "GET", **headers: str) -> Answer:
    return await client(site).ask(b"", target, method, **headers)


async def test_who_asks_for_html_is_served_the_page(open_site: OpenSite) -> None:
    async with open_site(files=FILES) as site:
        for accepted in (BROWSER, "text/html", "application/json, TEXT/HTML;q=0.5"):
            answer = await get(site, Accept=accepted)
            assert (answer.status, answer.body) == (200, PAGE.body)
            assert answer.headers["content-type"] == "text/html; charset=utf-8"
            assert answer.headers["x-of"] == "page"
            assert answer.headers["vary"] == "Accept"


@pytest.mark.parametrize("accepted", ["", "*/*", "application/json", "text/*", "text/html;q=0", "text/htmlx"])
async def test_who_asks_for_something_else_is_answered_as_without_files(
    open_site: OpenSite, accepted: str
) -> None:
    headers = {"Accept": accepted} if accepted else {}
    async with open_site(files=FILES) as site, open_site() as plain:
        answer, usual = await get(site, **headers), await get(plain, **headers)
        assert (answer.status, answer.body, answer.headers) == (usual.status, usual.body, usual.headers)


async def test_a_file_of_another_path_is_for_everybody(open_site: OpenSite) -> None:
    async with open_site(files=FILES) as site:
        answer = await get(site, "/page/x.js?1")
        assert (answer.status, answer.body) == (200, SCRIPT.body)
        assert "vary" not in answer.headers
        assert (await get(site, "/page/y.js")).status == 404
        assert (await get(site, "/page/")).status == 404


async def test_a_head_is_answered_without_the_body(open_site: OpenSite) -> None:
    async with open_site(files=FILES) as site:
        answer = await get(site, method="HEAD", Accept=BROWSER)
        assert (answer.status, answer.body) == (200, b"")
        assert answer.headers["content-length"] == str(len(PAGE.body))


@pytest.mark.parametrize("known", ["{}", "W/{}", '"other", {}', "*"])
async def test_a_file_that_the_browser_has_is_not_sent_again(open_site: OpenSite, known: str) -> None:
    async with open_site(files=FILES) as site:
        first = await get(site, Accept=BROWSER)
        assert first.headers["cache-control"] == "no-cache"
        tag = first.headers["etag"]
        http = client(site)
        answer = await http.ask(b"", "/", "GET", Accept=BROWSER, If_None_Match=known.format(tag))
        assert (answer.status, answer.body, answer.headers["etag"]) == (304, b"", tag)
        assert "content-length" not in answer.headers
        # The connection goes on.
        assert (await http.ask(b"", "/", "GET", Accept=BROWSER, If_None_Match='"other"')).status == 200


async def test_calls_at_the_path_of_the_page_go_on(open_site: OpenSite) -> None:
    async with open_site(files=FILES) as site:
        answer = await client(site).ask(target="/", Accept=BROWSER)
        assert answer.json == {"jsonrpc": "2.0", "id": 1, "result": "0x1"}
        peer = await site.peer(path="/", Accept=BROWSER)
        await peer.send(NUMBER % 1)
        assert (await peer.reply())["result"] == "0x1"


async def test_no_file_is_served_under_a_strange_host(open_site: OpenSite) -> None:
    async with open_site(files=FILES, origin_policy=OriginPolicy.local([], [])) as site:
        for target in FILES:
            answer = await get(site, target, Host="evil.example", Accept=BROWSER)
            assert (answer.status, answer.json["error"]["message"]) == (403, "invalid host specified")
            assert (await get(site, target, Host="localhost", Accept=BROWSER)).status == 200


async def test_another_page_may_not_read_a_file(open_site: OpenSite) -> None:
    async with open_site(files=FILES) as site:
        answer = await get(site, Accept=BROWSER, Origin="https://other.example")
        assert "access-control-allow-origin" not in answer.headers
