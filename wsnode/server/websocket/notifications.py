"""Events as WebSocket frames: encoded once, in pieces to be joined by each receiver's id."""

import zlib
from typing import TypeAlias

from wsnode.pubsub.subscription import IDENTITY_BYTES, Event
from wsnode.server.websocket.deflate import EMPTY_BLOCK_BYTES
from wsnode.server.websocket.frames import COMPRESSED, TEXT_WHOLE, frame_head

Pieces: TypeAlias = list[bytes]
"""Frames of an event without the ids: `identity.join(pieces)` is the text for one receiver."""

UNCOMPRESSED = 0
"""Value for no compression, in place of the bits of a compression window."""

# RFC 1951, 3.2.4: what follows the bits that a sync flush ends with, and precedes bytes stored as they are.
_STORED = IDENTITY_BYTES.to_bytes(2, "little") + (IDENTITY_BYTES ^ 0xFFFF).to_bytes(2, "little")
# UTF-8 has no such byte, so nothing that comes behind refers to where the id stands.
_PLACE = b"\xff" * IDENTITY_BYTES


def pieces_of(event: Event, window_bits: int, deflate_bytes: int) -> Pieces:
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
    # The compressor must see as many bytes there as the receiver will, or its distances would be wrong.
    compressor.compress(_PLACE)
    compressor.flush(zlib.Z_SYNC_FLUSH)
    tail = compressor.compress(after) + compressor.flush(zlib.Z_SYNC_FLUSH)
    return head[:-EMPTY_BLOCK_BYTES] + _STORED, tail[:-EMPTY_BLOCK_BYTES]
