"""The other address of a node."""

import pytest

from wsnode.upstream.errors import AddressError
from wsnode.verify.addresses import Addresses, addresses_of


@pytest.mark.parametrize(
    ("http", "websocket"),
    [
        ("http://127.0.0.1:8545/", "ws://127.0.0.1:8545/"),
        ("http://node:8545/v3/key", "ws://node:8545/ws/v3/key"),
        ("https://node/v3/key", "wss://node/ws/v3/key"),
        ("http://[::1]:8545/rpc?a=b", "ws://[::1]:8545/rpc?a=b"),
    ],
)
def test_each_address_gives_the_other(http: str, websocket: str) -> None:
    assert addresses_of(http) == addresses_of(websocket) == Addresses(http, websocket)


def test_an_address_that_is_told_is_taken() -> None:
    told = addresses_of("http://node:8545", websocket="ws://node:8546")
    assert told == Addresses("http://node:8545", "ws://node:8546")
    assert addresses_of("ws://node:8546", http="http://node:8545") == told


@pytest.mark.parametrize("url", ["node:8545", "ftp://node", "http://", "http://node:x", "ws://no de", ""])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(AddressError):
        addresses_of(url)


def test_the_schemes_are_not_mixed_up() -> None:
    with pytest.raises(AddressError, match="not a ws:// address"):
        addresses_of("http://node", websocket="http://node")
