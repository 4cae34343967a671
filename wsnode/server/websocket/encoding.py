"""Compressed payloads, and events as WebSocket frames, encoded once for all receivers.

permessage-deflate is negotiated without context takeover, so that nothing is kept between messages.
"""

import zlib
from typing import TypeAlias

from websockets.extensions.permessage_deflate import PerMessageDeflate, ServerPerMessageDeflateFactory

from wsnode.jsonrpc.work import Reply, pieces_of
from wsnode.pubsub.subscription import IDENTITY_BYTES, Event
from wsnode.server.transport.transport import coalesce
from wsnode.server.websocket.frames import COMPRESSED, TEXT_WHOLE, frame_head

Pieces: TypeAlias = list[bytes]
"""Frames of an event without the ids: `identity.join(pieces)` is the text for one receiver."""
EMPTY_BLOCK_BYTES = 4
"""Bytes at the end of a sync flush that are not sent (RFC 7692, section 7.2.1)."""
UNCOMPRESSED = 0
"""Value for no compression, in place of the bits of a compression window."""
# Length and complement of a stored block (RFC 1951, 3.2.4): they follow the header bits at the end of a sync
# flush, and precede the stored bytes.
_STORED = IDENTITY_BYTES.to_bytes(2, "little") + (IDENTITY_BYTES ^ 0xFFFF).to_bytes(2, "little")
# UTF-8 has no byte 0xff, so no compressed bytes after the id refer back to its place.
_PLACE = b"\xff" * IDENTITY_BYTES


def factory() -> ServerPerMessageDeflateFactory:
    """Return the extension factory for a handshake, without context takeover in both directions."""
    return ServerPerMessageDeflateFactory(server_no_context_takeover=True, client_no_context_takeover=True)


def compress(payload: Reply, extension: PerMessageDeflate) -> bytes:
    """Return the compressed payload of a whole message; may run in any thread."""
    # The extension's own encoder is an attribute of the extension, which two threads must not share. So each
    # message has a compressor of its own.
    compressor = zlib.compressobj(level=1, wbits=-extension.local_max_window_bits)
    pieces = [compressor.compress(piece) for piece in coalesce(pieces_of(payload))]
    pieces.append(compressor.flush(zlib.Z_SYNC_FLUSH))
    return b"".join(pieces)[:-EMPTY_BLOCK_BYTES]


def encode_event(event: Event, window_bits: int, deflate_bytes: int) -> Pieces:
    """Return the frames of `event` without the receivers' ids (see `Pieces`); keep them in `event.encoded`.

    Frames of at least `deflate_bytes` are compressed with `window_bits`, which is UNCOMPRESSED for none.
    """
    pieces = [b""]
    for before, after in event.messages:
        size = len(before) + IDENTITY_BYTES + len(after)
        first = TEXT_WHOLE
        if window_bits != UNCOMPRESSED and size >= deflate_bytes:
            before, after = _compressed(before, after, window_bits)
            size, first = len(before) + IDENTITY_BYTES + len(after), TEXT_WHOLE | COMPRESSED
        pieces[-1] += frame_head(size, first) + before
        pieces.append(after)
    event.encoded[window_bits] = pieces
    return pieces


def _compressed(before: bytes, after: bytes, window_bits: int) -> tuple[bytes, bytes]:
    """Return both parts compressed, so that a stored block with the id can stand between them."""
    compressor = zlib.compressobj(level=1, wbits=-window_bits)
    head = compressor.compress(before) + compressor.flush(zlib.Z_SYNC_FLUSH)
    # The compressor must process as many bytes in place of the id as the receiver will, or its distances
    # would be wrong.
    compressor.compress(_PLACE)
    compressor.flush(zlib.Z_SYNC_FLUSH)
    tail = compressor.compress(after) + compressor.flush(zlib.Z_SYNC_FLUSH)
    return head[:-EMPTY_BLOCK_BYTES] + _STORED, tail[:-EMPTY_BLOCK_BYTES]
