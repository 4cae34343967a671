"""Content encodings of HTTP bodies: gzip and zstd, in both directions, within the limit of a body."""

import re
import zlib
from typing import Any

import zstandard

from wsnode.jsonrpc.work import Reply, pieces_of, size_of
from wsnode.server.limits import Limits
from wsnode.server.scheduling.worker_pool import WorkerPool
from wsnode.server.transport.transport import coalesce

CHUNK_BYTES = 64 * 1024
INFLATED_AT_ONCE = 64 * 1024
"""Bytes up to which a body is decompressed on the event loop: 3 ms if it grows to 5 MiB."""
GZIP_LEVEL = 1
GZIP_BITS = 16 + zlib.MAX_WBITS
"""`wbits` of zlib for the format of gzip with the largest window."""
ZSTD_LEVEL = 3
_REFUSED = re.compile(r";\s*q=0(\.0*)?\s*$")


class BadContentError(Exception):
    """Error of a body that cannot be decoded; `status` is 400, 413 or 415."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message


def decode_body(body: bytes, encoding: str, limit: int) -> bytes:
    """Return `body` decoded from `encoding`.

    Raises:
        BadContentError: It is larger than `limit` bytes, damaged, or of an unsupported encoding.
    """
    try:
        if encoding in ("gzip", "x-gzip"):
            return _inflate(body, limit)
        if encoding == "zstd":
            return _decompress_zstd(body, limit)
    except (zlib.error, zstandard.ZstdError) as error:
        raise BadContentError(400, f"damaged {encoding} body: {error}") from None
    raise BadContentError(415, f"content encoding {encoding} is not supported")


def choose_encoding(accepted: str) -> str | None:
    """Return the best supported encoding that an Accept-Encoding header admits, None for no encoding."""
    offers = {
        offer.partition(";")[0].strip().lower() for offer in accepted.split(",") if not _REFUSED.search(offer)
    }
    return next((encoding for encoding in ("zstd", "gzip") if encoding in offers), None)


async def encode_body(
    body: Reply, accepted: str, limits: Limits, workers: WorkerPool, client: Any
) -> tuple[Reply, dict[str, str]]:
    """Return `body` in an accepted encoding, and the headers about it.

    Bodies above `deflate_inline_bytes` are encoded in a thread.
    """
    if (encoding := choose_encoding(accepted)) is None:
        return body, {}
    if size_of(body) <= limits.deflate_inline_bytes:
        encoded = _encode(body, encoding)
    else:
        encoded = await workers.run(client, lambda _cancel: _encode(body, encoding))
    return encoded, {"Content-Encoding": encoding, "Vary": "Accept-Encoding"}


def _encode(body: Reply, encoding: str) -> bytes:
    compressor: Any
    if encoding == "zstd":
        compressor = zstandard.ZstdCompressor(level=ZSTD_LEVEL).compressobj(size=size_of(body))
    else:
        compressor = zlib.compressobj(GZIP_LEVEL, wbits=GZIP_BITS)
    return b"".join((*map(compressor.compress, coalesce(pieces_of(body))), compressor.flush()))


def _inflate(body: bytes, limit: int) -> bytes:
    inflater = zlib.decompressobj(wbits=GZIP_BITS)
    text = inflater.decompress(body, limit + 1)
    if len(text) > limit:
        raise _too_large(limit)
    if not inflater.eof or inflater.unused_data:
        raise BadContentError(400, "damaged gzip body")
    return text


def _decompress_zstd(body: bytes, limit: int) -> bytes:
    text = bytearray()
    for chunk in zstandard.ZstdDecompressor(max_window_size=8 * 1024 * 1024).read_to_iter(
        body, write_size=CHUNK_BYTES
    ):
        text += chunk
        if len(text) > limit:
            raise _too_large(limit)
    return bytes(text)


def _too_large(limit: int) -> BadContentError:
    return BadContentError(413, f"content too large after decompression (>{limit})")
