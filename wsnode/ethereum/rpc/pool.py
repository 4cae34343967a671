"""txpool_…: what a node tells of its pool that never holds a transaction."""

import msgspec

from wsnode.ethereum.primitives.values import Address
from wsnode.jsonrpc.registry import Registry

_NOTHING = b'{"pending":{},"queued":{}}'
_NONE = b'{"pending":"0x0","queued":"0x0"}'


class SenderParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address]`."""

    address: Address


def status() -> bytes:
    """Return how many transactions wait: none."""
    return _NONE


def content_from(_params: SenderParameters) -> bytes:
    """Return the waiting transactions of an account: none."""
    return _NOTHING


def content() -> bytes:
    """Return the waiting transactions by account and nonce: none."""
    return _NOTHING


def add_methods(registry: Registry) -> None:
    """Register this module's methods."""
    method = registry.method
    method("txpool_status", view=False)(status)
    method("txpool_contentFrom", view=False)(content_from)
    method("txpool_content", view=False)(content)
    method("txpool_inspect", view=False)(content)
