"""permessage-deflate: negotiated without context takeover, so that nothing is kept between messages."""

import zlib

from websockets.extensions.permessage_deflate import PerMessageDeflate, ServerPerMessageDeflateFactory

from wsnode.jsonrpc.work import Reply, pieces_of
from wsnode.server.transport.chunking import coalesce

EMPTY_BLOCK_BYTES = 4
"""Bytes at the end of a sync flush that are not sent (RFC 7692, section 7.2.1)."""


def factory() -> ServerPerMessageDeflateFactory:
    """Return the extension factory for a handshake, without context takeover in both directions."""
    return ServerPerMessageDeflateFactory(server_no_context_takeover=True, client_no_context_takeover=True)


def compress(payload: Reply, extension: PerMessageDeflate) -> bytes:
    """Return the compressed payload of a whole message; may run in any thread."""
    # The extension's own encoder lives on the extension, which two threads must not share.
    compressor = zlib.compressobj(level=1, wbits=-extension.local_max_window_bits)
    pieces = [compressor.compress(piece) for piece in coalesce(pieces_of(payload))]
    pieces.append(compressor.flush(zlib.Z_SYNC_FLUSH))
    return b"".join(pieces)[:-EMPTY_BLOCK_BYTES]
