"""Addresses of a running node, as a user pastes them into a client."""

from collections.abc import Callable
from typing import Final

from tests.node_process import Node

KEY: Final = "any-key"

AddressOf = Callable[[Node], str]


def keyed(url: str) -> str:
    """Return the printed address with a key in it."""
    return url.replace("<API_KEY>", KEY)


HTTP_ADDRESSES: Final[dict[str, AddressOf]] = {
    "http": lambda node: keyed(node.http_url),
    "bare http": lambda node: node.bare(node.http_url),
}
SOCKET_ADDRESSES: Final[dict[str, AddressOf]] = {
    "websocket": lambda node: keyed(node.socket_url),
    "bare websocket": lambda node: node.bare(node.socket_url),
}
ADDRESSES: Final = HTTP_ADDRESSES | SOCKET_ADDRESSES
