"""Which names and which web pages get in, over either transport."""

import pytest

from tests.server.conftest import OpenSite, Peer
from tests.server.http.test_connection import ONE, client
from wsnode.node.addresses import Address
from wsnode.node.config import Config, NetworkConfig
from wsnode.server.access.grants import Grant, KeyLimits
from wsnode.server.access.perimeter import OPEN, Perimeter, is_local_host
from wsnode.server.access.refusals import RefusedError

LOCAL = Perimeter.local(["node", "node.example"], ["https://remix.example"])
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
    "//localhost",
    "localhost",
]


def test_a_private_node_answers_to_its_own_names_to_addresses_and_to_those_given() -> None:
    for host in LOCAL_HOSTS:
        LOCAL.check_host(host)
    for host in FOREIGN_HOSTS:
        with pytest.raises(RefusedError, match="invalid host specified") as refused:
            LOCAL.check_host(host)
        assert refused.value.status == 403


def test_a_private_node_lets_in_wallets_local_pages_and_those_given() -> None:
    for origin in LOCAL_ORIGINS:
        assert not LOCAL.check_origin(None, origin), "an answer names the origin that it is for"
    for origin in FOREIGN_ORIGINS:
        with pytest.raises(RefusedError, match="origin not allowed"):
            LOCAL.check_origin(None, origin)


def test_a_star_stands_for_all() -> None:
    everybody = Perimeter.local(["*"], ["*"])
    for host in FOREIGN_HOSTS:
        everybody.check_host(host)
    for origin in FOREIGN_ORIGINS:
        assert everybody.check_origin(None, origin)
        assert Perimeter.of_origins(["https://one.example", "*"]).check_origin(None, origin)


def test_elsewhere_every_host_will_do_and_every_page_unless_some_are_named() -> None:
    named = Perimeter.of_origins(["https://one.example"])
    for host in FOREIGN_HOSTS:
        OPEN.check_host(host)
        named.check_host(host)
    assert OPEN.check_origin(None, "https://evil.example")
    assert not named.check_origin(None, "https://one.example")
    for origin in ("https://evil.example", "http://localhost:3000", "chrome-extension://abc"):
        with pytest.raises(RefusedError, match="origin not allowed"):
            named.check_origin(None, origin)


def test_the_pages_of_a_key_come_first() -> None:
    grant = Grant("page", KeyLimits(origins=("https://a.example",)))
    for perimeter in (OPEN, LOCAL, Perimeter.of_origins(["https://b.example"])):
        assert not perimeter.check_origin(grant, "https://a.example")
        with pytest.raises(RefusedError):
            perimeter.check_origin(grant, "https://b.example")
    assert OPEN.check_origin(Grant("all", KeyLimits(origins=("*",))), "https://c.example")


async def test_other_names_and_pages_are_refused_over_either_transport(open_site: OpenSite) -> None:
    async with open_site(perimeter=LOCAL) as site:
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
    assert is_local_host(Address.parse(listen).host) == is_local
    assert Config(networks=networks, listen=listen, open=True).is_private == is_local
    assert not Config(networks=networks, listen=listen).is_private
