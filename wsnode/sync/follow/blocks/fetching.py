"""Blocks out of an upstream: as RLP where it offers that, else encoded again from its JSON."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec
import trio

from wsnode.ethereum.codec.blocks import UnverifiedBlock, decode_blocks, encode_told_block
from wsnode.ethereum.codec.headers import block_hash
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal
from wsnode.ethereum.state import ChainSpec, InvalidBlockError
from wsnode.sync.follow.upstream import Upstream
from wsnode.upstream.errors import RefusedError, UpstreamError
from wsnode.upstream.link import Link
from wsnode.upstream.messages import NOTHING

FIRST_DELAY: Final = 0.025
MOST_DELAYS: Final = 2.0
"""Seconds within which a block that was announced and cannot be read yet is asked for again."""
SHORT: Final = 1 << 18
"""Bytes that are read in the event loop: a thread costs more."""
_ABSENT: Final = ("not found", "unknown block", "missing", "does not exist yet")

RAW: Final = "debug_getRawBlock"


class Told(msgspec.Struct):
    """What of a header or a block in JSON says where it stands."""

    hash: str
    number: str
    parent_hash: str = msgspec.field(name="parentHash")
    uncles: list[str] = []

    @property
    def head(self) -> Head:
        """Return its number and hash.

        Raises:
            ValueError: They are none.
        """
        found = Hash32(bytes.fromhex(self.hash.removeprefix("0x")))
        if len(found) != 32:
            raise ValueError("a hash has 32 bytes")
        return Head(BlockNumber(int(self.number, 16)), found)


_TOLD = msgspec.json.Decoder(Told | None)


def told_block(text: bytes) -> Told | None:
    """Return a header or block in JSON as far as it says where it stands, None for null.

    Raises:
        UpstreamError: It is something else.
    """
    try:
        told: Told | None = _TOLD.decode(text)
        if told is not None:
            _ = told.head
    except (msgspec.DecodeError, ValueError) as error:
        raise UpstreamError("invalid", f"no block: {error}") from None
    return told


async def head_at(upstream: Upstream, tag: str, link: Link | None = None) -> Head | None:
    """Return the block that an upstream has at a number or tag, None if it has none.

    Raises:
        UpstreamError: It gives no answer.
    """
    try:
        text = await upstream.client.ask_text("eth_getBlockByNumber", [tag, False], link=link)
    except RefusedError as error:
        # geth says so of `safe` and `finalized` before there is one, and of numbers above its head.
        if is_absent(error):
            return None
        raise
    told = told_block(text)
    return None if told is None else told.head


async def number_of(upstream: Upstream, block_hash: Hash32, link: Link) -> int | None:
    """Return the number of a block, None if the upstream has no such block.

    Raises:
        UpstreamError: It gives no answer.
    """
    try:
        text = await upstream.client.ask_text(
            "eth_getBlockByHash", [hexadecimal(block_hash), False], link=link
        )
    except RefusedError as error:
        if is_absent(error):
            return None
        raise
    told = told_block(text)
    return None if told is None else told.head.number


async def block_of_hash(
    upstream: Upstream, link: Link, wanted: Hash32, on_absent: Callable[[], None] | None = None
) -> bytes:
    """Return the RLP of a block, asked for again while it is not there yet; `on_absent` is called then.

    Raises:
        UpstreamError: `absent` if it is not there in time, `invalid` if another block was given.
    """

    async def ask() -> bytes | None:
        return await _asked(upstream, hexadecimal(wanted), "eth_getBlockByHash", link)

    encoded = await asked_again(ask, hexadecimal(wanted), on_absent)
    if block_hash(encoded) != wanted:
        raise UpstreamError("invalid", f"its block {hexadecimal(wanted)} has another hash")
    return encoded


async def asked_again(
    ask: Callable[[], Awaitable[bytes | None]], name: str, on_absent: Callable[[], None] | None = None
) -> bytes:
    """Return what `ask` finds, asked again while it is not there yet; `on_absent` is called then.

    Raises:
        UpstreamError: `absent`, with its name, if it is not there within `MOST_DELAYS`.
    """
    delay, waited = FIRST_DELAY, 0.0
    while (found := await ask()) is None:
        if on_absent is not None:
            on_absent()
        if waited >= MOST_DELAYS:
            raise UpstreamError("absent", name)
        await trio.sleep(delay)
        waited, delay = waited + delay, min(2 * delay, MOST_DELAYS - waited)
    return found


async def block_of_number(upstream: Upstream, number: int) -> bytes:
    """Return the RLP of what an upstream says is a canonical block.

    Raises:
        UpstreamError: It has none.
    """
    encoded = await _asked(upstream, hex(number), "eth_getBlockByNumber", None)
    if encoded is None:
        raise UpstreamError("absent", f"block {number}")
    return encoded


async def blocks_of_numbers(upstream: Upstream, numbers: Sequence[int]) -> list[bytes | None]:
    """Return the RLP of what an upstream says are canonical blocks, None for those to be asked for alone.

    Raises:
        RefusedError: It takes no batch, or none so large.
        UpstreamError: It gives no answer, or what is no block.
    """
    calls = [[hex(number)] for number in numbers]
    if upstream.offers_raw in (None, True):
        answers = await upstream.client.ask_all(RAW, calls)
        if any(not isinstance(each, RefusedError) for each in answers):
            return await _in_thread_if_long(_all_raw, answers)
    answers = await upstream.client.ask_all("eth_getBlockByNumber", [[*call, True] for call in calls])
    return await _in_thread_if_long(_all_encoded, answers)


async def _in_thread_if_long(
    read: Callable[[Sequence[bytes | RefusedError]], list[bytes | None]],
    answers: Sequence[bytes | RefusedError],
) -> list[bytes | None]:
    if sum(len(each) for each in answers if isinstance(each, bytes)) < SHORT:
        return read(answers)
    return await trio.to_thread.run_sync(read, answers)


def _all_raw(answers: Sequence[bytes | RefusedError]) -> list[bytes | None]:
    return [
        None if isinstance(each, RefusedError) or each == NOTHING else _bytes_of(each) for each in answers
    ]


def _all_encoded(answers: Sequence[bytes | RefusedError]) -> list[bytes | None]:
    return [None if isinstance(each, RefusedError) else _encoded_alone(each) for each in answers]


def _encoded_alone(text: bytes) -> bytes | None:
    """Return the RLP of a block in JSON, None if more than that is needed for it."""
    told = told_block(text)
    if told is None or told.uncles:
        return None
    try:
        return encode_told_block(text, [])
    except InvalidBlockError as error:
        raise UpstreamError("invalid", str(error)) from None


async def _asked(upstream: Upstream, wanted: str, method: str, link: Link | None) -> bytes | None:
    """Return a block's RLP, None while the upstream has no such block."""
    try:
        if upstream.offers_raw in (None, True):
            encoded = await _raw(upstream, wanted, link)
            if upstream.offers_raw in (None, True):
                return encoded
        text = await upstream.client.ask_text(method, [wanted, True], link=link)
        return await _encoded(upstream, text, link)
    except RefusedError as error:
        if is_absent(error):
            return None
        raise


async def _raw(upstream: Upstream, wanted: str, link: Link | None) -> bytes | None:
    try:
        text = await upstream.client.ask_text(RAW, [wanted], link=link)
    except RefusedError as error:
        if is_absent(error) or error.is_about_rate:
            raise
        upstream.offers_raw = False
        return None
    if text == NOTHING:
        return None
    upstream.offers_raw = True
    return _bytes_of(text)


def _bytes_of(text: bytes) -> bytes:
    """Return bytes out of a JSON string of hexadecimal digits.

    Raises:
        UpstreamError: It is none.
    """
    try:
        return bytes.fromhex(text[3:-1].decode())
    except ValueError:
        raise UpstreamError("invalid", f"{RAW} gives no hexadecimal text") from None


async def _encoded(upstream: Upstream, text: bytes, link: Link | None) -> bytes | None:
    told = told_block(text)
    if told is None:
        return None
    ommers = []
    for index in range(len(told.uncles)):
        params = [told.hash, hex(index)]
        ommers.append(await upstream.client.ask_text("eth_getUncleByBlockHashAndIndex", params, link=link))
    try:
        if len(text) < SHORT:
            return encode_told_block(text, ommers)
        return await trio.to_thread.run_sync(encode_told_block, text, ommers)
    except InvalidBlockError as error:
        raise UpstreamError("invalid", str(error)) from None


async def decoded(spec: ChainSpec, encoded: list[bytes]) -> list[UnverifiedBlock]:
    """Return blocks out of their RLP.

    Raises:
        UpstreamError: One of them is malformed, or signed by nobody.
    """
    if sum(map(len, encoded)) < SHORT // 16:
        blocks, error = decode_blocks(spec, encoded)
    else:
        blocks, error = await trio.to_thread.run_sync(decode_blocks, spec, encoded)
    if error is not None:
        raise UpstreamError("invalid", str(error))
    return blocks


def is_absent(error: RefusedError) -> bool:
    """Return whether an upstream says that it has no such block (yet)."""
    return any(words in error.message.lower() for words in _ABSENT)
