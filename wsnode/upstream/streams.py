"""Opening of connections to upstreams."""

import ssl
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

import trio

from wsnode.upstream.address import UpstreamAddress

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
    # Here rather than with the first bytes, or a certificate that is not trusted would look like silence.
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
    # An address with several hosts fails with a group, in which each has its reason.
    return error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error.__cause__
