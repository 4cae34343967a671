"""Access lists of blocks that are not executed (EIP-7928), fetched from the node of the receipts."""

import logging
from typing import Final

from wsnode.ethereum.codec.blocks import UnverifiedBlock
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.state import InvalidBlockError
from wsnode.jsonrpc.errors import METHOD_NOT_FOUND
from wsnode.sync.follow.upstream import Upstream
from wsnode.untrusted.decoding import JsonDecoder, decode_bytes
from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError

METHOD: Final = "debug_getRawBlockAccessList"
_RULES: Final = frozenset({"block_access_list", "block_access_list_hash", "block_access_list_size"})
_LIST: Final = JsonDecoder[str | None](str | None)

logger = logging.getLogger("wsnode.follow")


async def access_list_of(upstream: Upstream, block: UnverifiedBlock) -> bytes | None:
    """Return the RLP of a block's access list from an upstream, None if it has none; not verified.

    Blocks are followed without the access list where an upstream lacks it.
    """
    if block.access_list_hash is None or not upstream.offers_access_lists:
        return None
    try:
        text = await upstream.client.ask_text(METHOD, [hexadecimal(block.hash)], link=upstream.link)
        return upstream.client.read(_decoded, text)
    except UpstreamRefusedError as error:
        if error.code == METHOD_NOT_FOUND:
            logger.info("%s has no %s: values of the state are proved for each block", upstream, METHOD)
            upstream.offers_access_lists = False
    except UpstreamError as error:
        logger.debug("%s: access list of block %d: %s", upstream, block.number, error)
    return None


def is_about_access_list(error: InvalidBlockError) -> bool:
    """Return True if an error says that an access list does not match its block's header."""
    return error.rule in _RULES


def distrust(upstream: Upstream, error: InvalidBlockError) -> None:
    """Ask an upstream for no more access lists, because one was wrong."""
    logger.warning("%s sent a wrong access list: %s", upstream, error)
    upstream.offers_access_lists = False


def _decoded(text: bytes) -> bytes | None:
    try:
        told = _LIST.decode(text)
        return None if told is None else decode_bytes(told)
    except ValueError as error:
        raise UpstreamError("invalid", f"the result of {METHOD} is malformed: {error}") from None
