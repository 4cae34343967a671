"""Which names and which web pages get in, over either transport."""

from typing import Any

import pytest

from tests.server.conftest import OpenSite, Peer
from tests.server.http.test_connection import ONE, client
from wsnode.node.config import Config, NetworkConfig
from wsnode.node.listen_address import ListenAddress
from wsnode.server.access.api_keys import ApiKey, KeyLimits
from wsnode.server.access.origin_policy import OPEN, OriginPolicy, is_local_host
from wsnode.server.access.request_errors import HttpRequestRefusedError

LOCAL = OriginPolicy.local(["node", "node.example"], ["https://remix.example"])
LOCAL_HOSTS = [
    "localhost",
    "localhost:8545",
    "LOCALHOST.",
    "app.localhost:1",
    "127.0.0.1:8545",
    "[::1]:8545",
    "[::1]",
    "192.168.1.7:8545",
    "node.example:8545",
    "Node.Example",
    "",
]
FOREIGN_HOSTS = [
    "evil.example",
    "evil.example:8545",
    "localhost.evil.example",
    "127.0.0.1.nip.example",
    "xlocalhost",
    "[::1].evil.example",
    "[::1].evil.example:8545",
    "[::1]x:1",
    "[::1",
    "[localhost]",
    "localhost:evil.example",
    "localhost:1:2",
    "evil@localhost:1]",
]
LOCAL_ORIGINS = [
    None,
    "http://localhost",
    "http://localhost:3000",
    "https://app.localhost:8080",
    "http://127.0.0.1:5173",
    "http://[::1]:5173",
    "chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn",
    "moz-extension://5c0a1b1e-0000-4000-8000-000000000000",
    "safari-web-extension://5C0A1B1E-0000-4000-8000-000000000000",
    "https://remix.example",
    "HTTPS://Remix.Example",
]
FOREIGN_ORIGINS = [
    "null",
    "",
    "https://evil.example",
    "http://localhost.evil.example",
    "http://192.168.1.7:3000",
    "https://remix.example:8443",
    "http://remix.example",
    "http://[broken",
    "http://[::1].evil.example",
    "http://[::1]evil.example:3000",
    "http://evil@localhost",
    "http://localhost:evil.example",
    "//localhost",
    "localhost",
]


def test_a_private_node_answers_to_its_own_names_to_addresses_and_to_those_given() -> None:
    for host in LOCAL_HOSTS:
        LOCAL.check_host(host)
    for host in FOREIGN_HOSTS:
        with pytest.raises(HttpRequestRefusedError, match="invalid host specified") as refused:
            LOCAL.check_host(host)
        assert refused.value.status == 403


def test_a_private_node_lets_in_wallets_local_pages_and_those_given() -> None:
    for origin in LOCAL_ORIGINS:
        assert not LOCAL.check_origin(None, origin), "an answer names the origin that it is for"
    for origin in FOREIGN_ORIGINS:
        with pytest.raises(HttpRequestRefusedError, match="origin not allowed"):
            LOCAL.check_origin(None, origin)


def test_a_star_stands_for_all() -> None:
    everybody = OriginPolicy.local(["*"], ["*"])
    for host in FOREIGN_HOSTS:
        everybody.check_host(host)
    for origin in FOREIGN_ORIGINS:
        assert everybody.check_origin(None, origin)
        assert OriginPolicy.of_origins(["https://one.example", "*"]).check_origin(None, origin)


def test_elsewhere_every_host_will_do_and_every_page_unless_some_are_named() -> None:
    named = OriginPolicy.of_origins(["https://one.example"])
    for host in FOREIGN_HOSTS:
        OPEN.check_host(host)
        named.check_host(host)
    assert OPEN.check_origin(None, "https://evil.example")
    assert not named.check_origin(None, "https://one.example")
    for origin in ("https://evil.example", "http://localhost:3000", "chrome-extension://abc"):
        with pytest.raises(HttpRequestRefusedError, match="origin not allowed"):
            named.check_origin(None, origin)


def test_the_pages_of_a_key_come_first() -> None:
    grant = ApiKey("page", KeyLimits(origins=("https://a.example",)))
    for origin_policy in (OPEN, LOCAL, OriginPolicy.of_origins(["https://b.example"])):
        assert not origin_policy.check_origin(grant, "https://a.example")
        with pytest.raises(HttpRequestRefusedError):
            origin_policy.check_origin(grant, "https://b.example")
    assert OPEN.check_origin(ApiKey("all", KeyLimits(origins=("*",))), "https://c.example")


async def test_other_names_and_pages_are_refused_over_either_transport(open_site: OpenSite) -> None:
    async with open_site(origin_policy=LOCAL) as site:
        http = client(site)
        answer = await http.ask(Origin="http://localhost:3000")
        assert (answer.status, answer.json["result"]) == (200, "0x1")
        assert answer.headers["access-control-allow-origin"] == "http://localhost:3000"
        assert answer.headers["vary"] == "Origin"
        assert (await client(site).ask(Origin="https://evil.example")).status == 403
        assert (await client(site).ask(b"", method="OPTIONS", Origin="https://evil.example")).status == 403
        for path, method, body in (
            ("/v3/key", "POST", ONE),
            ("/metrics", "GET", b""),
            ("/healthz", "GET", b""),
        ):
            refused = await client(site).ask(body, path, method, Host="evil.example")
            assert (refused.status, refused.json["error"]["message"]) == (403, "invalid host specified")
        for headers, status in (
            ({}, 101),
            ({"Origin": "chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn"}, 101),
            ({"Origin": "https://evil.example"}, 403),
            ({"Origin": "null"}, 403),
        ):
            assert (await Peer(site.connect()).open(**headers)).status_code == status


@pytest.mark.parametrize(
    ("listen", "is_local"),
    [
        ("127.0.0.1:1", True),
        ("127.1.2.3:1", True),
        ("[::1]:1", True),
        ("localhost:1", True),
        ("0.0.0.0:1", False),
        ("[::]:1", False),
        ("192.168.1.7:1", False),
        ("node.example:1", False),
    ],
)
def test_a_node_is_private_without_keys_on_this_machine_alone(listen: str, is_local: bool) -> None:
    networks = {"one": NetworkConfig("one")}
    assert is_local_host(ListenAddress.parse(listen).host) == is_local
    assert Config(networks=networks, listen=listen, open=True).is_private == is_local
    assert not Config(networks=networks, listen=listen).is_private


REFUSED: list[tuple[dict[str, Any], int]] = [
    ({}, 200),
    ({"Content_Type": "text/plain"}, 415),
    ({"target": "/elsewhere"}, 404),
    ({"method": "PUT"}, 405),
    ({"Content_Encoding": "gzip"}, 400),
    ({"TE": "trailers", "X": "x" * 20_000}, 431),
    ({"Host": "evil.example"}, 403),
]
"""Requests, and their status for a page that may come in."""


@pytest.mark.parametrize(("asked", "status"), REFUSED)
async def test_a_page_that_may_not_come_in_can_read_no_refusal(
    open_site: OpenSite, asked: dict[str, Any], status: int
) -> None:
    async with open_site(origin_policy=LOCAL) as site:
        page = "http://localhost:3000"
        for origin in (page, "https://evil.example", "null"):
            http = client(site)
            assert (await http.ask()).status == 200
            answer = await http.ask(Origin=origin, **asked)
            assert answer.status == status if origin == page else answer.status >= 400
            # A page under another name of this machine is refused whatever its origin says.
            readable = origin if origin == page and status != 403 else None
            assert answer.headers.get("access-control-allow-origin") == readable
        answer = await client(site).ask(**asked)
        assert "access-control-allow-origin" not in answer.headers


async def test_every_page_can_read_a_refusal_of_a_node_for_every_page(open_site: OpenSite) -> None:
    async with open_site() as site:
        answer = await client(site).ask(Origin="https://any.example", target="/elsewhere")
        assert (answer.status, answer.headers["access-control-allow-origin"]) == (404, "*")
    async with open_site(origin_policy=OriginPolicy.of_origins(["https://one.example"])) as site:
        answer = await client(site).ask(Origin="https://one.example", target="/elsewhere")
        assert answer.headers["access-control-allow-origin"] == "https://one.example"
        assert answer.headers["vary"] == "Origin"
