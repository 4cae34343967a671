"""Receipts and access lists of blocks that are not executed: fetched, and compared with the header."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import (
    BuiltBlock,
    UnverifiedBlock,
    encode_json_receipts,
    verify_with_receipts,
)
from wsnode.ethereum.execution import NoReceiptsError
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.state import ChainSpec, InvalidBlockError
from wsnode.jsonrpc.errors import METHOD_NOT_FOUND
from wsnode.sync.follow.blocks.any_upstream import all_at_once, first_of
from wsnode.sync.follow.blocks.block_client import SHORT, UnknownForkError, asked_again, decoded, is_absent
from wsnode.sync.follow.upstream import PeerError, Upstream, Upstreams
from wsnode.untrusted.decoding import JsonDecoder, decode_bytes
from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError
from wsnode.upstream.messages import NOTHING

AT_ONCE: Final = 16
"""Maximum number of blocks whose receipts are asked for, and kept in memory, together."""
METHOD: Final = "eth_getBlockReceipts"
_LISTS_METHOD: Final = "debug_getRawBlockAccessList"
_RULES: Final = frozenset({"block_access_list", "block_access_list_hash", "block_access_list_size"})
_LIST: Final = JsonDecoder[str | None](str | None)

logger = logging.getLogger("wsnode.follow")


@contextmanager
def kept() -> Iterator[None]:
    """Run a judgement of blocks with the receipts that were brought.

    Raises:
        UpstreamError: The receipts of a block are forgotten by now, and can be brought again.
    """
    try:
        yield
    except NoReceiptsError as error:
        raise UpstreamError("absent", str(error)) from None


class Receipts:
    """Fetcher of blocks' receipts from upstreams, each verified by its block; it quarantines an upstream that
    sends wrong ones.
    """

    def __init__(self, chain: Chain, upstreams: Upstreams) -> None:
        self._chain = chain
        self._upstreams = upstreams
        self._ahead: dict[bytes, tuple[Upstream, bytes]] = {}
        """Receipts in JSON that were asked for together with their blocks, and the upstream of each."""

    async def ask_ahead(self, upstream: Upstream, hashes: Sequence[bytes]) -> None:
        """Ask for receipts of blocks before they are needed, concurrently; failed ones are asked for
        later.
        """
        new = [each for each in hashes if each not in self._ahead][:AT_ONCE]
        for block_hash, text in zip(new, await all_at_once(new, partial(_ahead, upstream)), strict=True):
            if text is not None:
                self._ahead[block_hash] = upstream, text
        while len(self._ahead) > AT_ONCE:
            del self._ahead[next(iter(self._ahead))]

    async def bring(self, blocks: Sequence[UnverifiedBlock], givers: Sequence[Upstream]) -> None:
        """Give the chain the receipts of at most `AT_ONCE` blocks, so that it can judge them.

        Raises:
            PeerError: A block is wrong; its giver is quarantined.
            UpstreamError: The receipts of a block cannot be had.
        """
        told = self._chain.receipt_verified
        assert told is not None, "only a light folder is given receipts"
        told.tell(await self.verified(blocks, givers))

    async def of_encoded(self, encoded: bytes, giver: Upstream) -> BuiltBlock:
        """Return a block with its receipts, out of its RLP.

        Raises:
            PeerError: The block is wrong; its giver is quarantined.
            UpstreamError: Its receipts cannot be had.
        """
        try:
            blocks = await decoded(self._chain.spec, [encoded])
        except UnknownForkError:
            raise
        except UpstreamError as error:
            raise _quarantined(giver, f"it sent a malformed block: {error.detail}") from None
        return (await self.verified(blocks, [giver]))[0]

    async def verified(
        self, blocks: Sequence[UnverifiedBlock], givers: Sequence[Upstream]
    ) -> list[BuiltBlock]:
        """Return blocks with their receipts; the giver of a block is asked first for its receipts.

        Raises:
            PeerError: A block's body is not that of its header; its giver is quarantined.
            UpstreamError: The receipts of a block cannot be had.
        """
        return await all_at_once(zip(blocks, givers, strict=True), lambda each: self._of(*each))

    async def _of(self, block: UnverifiedBlock, giver: Upstream) -> BuiltBlock:
        if not block.has_own_body:
            raise _quarantined(giver, f"its block {block.number} has a body that is not its header's")
        usable = sorted(self._upstreams.usable, key=lambda upstream: upstream is not giver)
        return (await first_of(usable, lambda upstream: self._from(upstream, block)))[0]

    async def _from(self, upstream: Upstream, block: UnverifiedBlock) -> BuiltBlock:
        asked: list[Callable[[], Awaitable[bytes | None]]] = [
            partial(self._fetch_receipts, upstream, Head.of(block)),
            partial(access_list_of, upstream, block),
        ]
        receipts, access_list = await all_at_once(asked, lambda ask: ask())
        assert receipts is not None, "there are receipts, or an error"
        judged = await _judged(self._chain.spec, block, receipts, access_list)
        if isinstance(judged, InvalidBlockError) and is_about_access_list(judged):
            distrust(upstream, judged)
            judged = await _judged(self._chain.spec, block, receipts, None)
        if isinstance(judged, BuiltBlock):
            return judged
        if judged.rule in ("receipts_root", "json"):
            unfit = _quarantined(upstream, f"its receipts of block {block.number} are wrong: {judged}")
            raise UpstreamError("invalid", str(unfit))
        raise UpstreamError("invalid", str(judged))

    async def _fetch_receipts(self, upstream: Upstream, block: Head) -> bytes:
        """Return the JSON of a block's receipts; ask again while they are not there yet."""
        giver, text = self._ahead.pop(block.hash, (None, b""))
        if giver is upstream:
            return text
        return await asked_again(
            lambda: _asked(upstream, block.hash),
            f"the receipts of {hexadecimal(block.hash)}",
            lambda: upstream.require_unreplaced(block),
        )


def _quarantined(upstream: Upstream, why: str) -> PeerError:
    """Quarantine an upstream for good, and return the reason as an exception."""
    unfit = PeerError(why, permanent=True)
    upstream.quarantine(unfit)
    return unfit


async def _ahead(upstream: Upstream, block_hash: bytes) -> bytes | None:
    """Return the JSON of a block's receipts, None if the upstream does not give them on the first request."""
    try:
        return await _asked(upstream, block_hash)
    except UpstreamError:
        return None


async def _asked(upstream: Upstream, block_hash: bytes) -> bytes | None:
    """Return the JSON of a block's receipts, None while they are not there."""
    try:
        text = await upstream.client.ask_text(METHOD, [hexadecimal(block_hash)], link=upstream.link)
    except UpstreamRefusedError as error:
        if is_absent(error):
            return None
        raise
    return None if text == NOTHING else text


async def _judged(
    spec: ChainSpec, block: UnverifiedBlock, text: bytes, access_list: bytes | None
) -> BuiltBlock | InvalidBlockError:
    def judge() -> BuiltBlock | InvalidBlockError:
        try:
            row = encode_json_receipts(text)
        except InvalidBlockError as error:
            return error
        return verify_with_receipts(spec, block, row, access_list)

    is_short = len(text) + len(access_list or b"") < SHORT // 4
    return judge() if is_short else await trio.to_thread.run_sync(judge)


async def access_list_of(upstream: Upstream, block: UnverifiedBlock) -> bytes | None:
    """Return the RLP of a block's access list from an upstream, None if it has none; not verified.

    Blocks are followed without the access list where an upstream lacks it.
    """
    if block.access_list_hash is None or not upstream.offers_access_lists:
        return None
    try:
        text = await upstream.client.ask_text(_LISTS_METHOD, [hexadecimal(block.hash)], link=upstream.link)
        return upstream.client.read(_decoded_list, text)
    except UpstreamRefusedError as error:
        if error.code == METHOD_NOT_FOUND:
            logger.info(
                "%s has no %s: values of the state are proved for each block", upstream, _LISTS_METHOD
            )
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


def _decoded_list(text: bytes) -> bytes | None:
    try:
        told = _LIST.decode(text)
        return None if told is None else decode_bytes(told)
    except ValueError as error:
        raise UpstreamError("invalid", f"the result of {_LISTS_METHOD} is malformed: {error}") from None
