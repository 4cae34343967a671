"""Link of a client to its upstream, over any transport, and the opening of its connections."""

import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias

import trio

from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.errors import UpstreamRefusedError
from wsnode.upstream.messages import ETH_SUBSCRIBE, Params

MESSAGE_BYTES: Final = 64 << 20
"""Maximum bytes of a message: a block of 10 MB, in hex and twice, with the names of its members."""

OnEvent: TypeAlias = Callable[[bytes], None]
"""Callback with the JSON text of a subscription's event; must not block."""


class Link(Protocol):
    """Connection to an upstream, over WebSocket or HTTP, on which calls are made. Once `ended` is set, every
    call fails.
    """

    ended: trio.Event
    heard: int
    """Number of messages received, by which a waiting task distinguishes silence from slowness."""

    async def ask(self, method: str, params: Params) -> bytes:
        """Return the JSON text of a call's result.

        Raises:
            UpstreamError: No result came.
        """

    async def ask_all(self, method: str, calls: Sequence[list[Any]]) -> list[bytes | UpstreamRefusedError]:
        """Return for each call of a batch the JSON text of its result, or the upstream's refusal.

        Raises:
            UpstreamRefusedError: The upstream takes no batch, or none of this size.
            UpstreamError: No answer came.
        """

    async def subscribe(self, params: Params, on_event: OnEvent, method: str = ETH_SUBSCRIBE) -> None:
        """Subscribe by `method`, and have `on_event` called with each event until the link ends.

        Raises:
            UpstreamError: The upstream, or its transport, has no such subscription.
        """

    def drop(self) -> None:
        """End the link; calls in flight on it fail."""


CONNECTING_SECONDS: Final = 10.0

Connect: TypeAlias = Callable[[UpstreamAddress], Awaitable[trio.abc.Stream]]
"""Function that opens a connection, encrypted if the address says so; raises OSError or BrokenResourceError.
"""


def connector(tls: ssl.SSLContext | None = None) -> Connect:
    """Return a function that opens connections; without `tls` it trusts the system's certificates."""

    async def connect(address: UpstreamAddress) -> trio.abc.Stream:
        return await open_stream(address, tls)

    return connect


async def open_stream(address: UpstreamAddress, tls: ssl.SSLContext | None) -> trio.abc.Stream:
    """Return a connection to the host of an address; a TLS handshake is complete.

    Raises:
        OSError, BrokenResourceError: No connection can be opened.
    """
    if not address.is_encrypted:
        return await trio.open_tcp_stream(address.host, address.port)
    stream = await trio.open_ssl_over_tcp_stream(
        address.host, address.port, https_compatible=True, ssl_context=tls
    )
    # The handshake is made here and not with the first bytes sent, or a certificate that is not trusted would
    # appear as silence.
    try:
        await stream.do_handshake()
    except BaseException:
        await trio.aclose_forcefully(stream)
        raise
    return stream


def words_for(error: BaseException) -> str:
    """Return the system's words for why a connection failed, such as "Connection refused".

    The text contains no URL. An error without such words is named by its type.
    """
    while (inner := _cause_of(error)) is not None:
        error = inner
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__


def _cause_of(error: BaseException) -> BaseException | None:
    # A host with several addresses fails with a group, in which each address has its own error.
    return error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error.__cause__
