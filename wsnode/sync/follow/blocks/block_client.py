"""Fetch of blocks from an upstream: as RLP where it offers that, else encoded again from its JSON."""

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

import msgspec
import trio

from wsnode.ethereum.codec.blocks import UnverifiedBlock, decode_blocks, encode_json_block
from wsnode.ethereum.codec.rlp import KNOWN_MEMBERS, block_hash, block_number, header_members
from wsnode.ethereum.head import Head
from wsnode.ethereum.networks.table import named, unknown_chain
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal
from wsnode.ethereum.state import ChainSpec, InvalidBlockError
from wsnode.sync.follow.upstream import Upstream
from wsnode.untrusted.decoding import JsonDecoder, MalformedError, decode_bytes, decode_quantity
from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError
from wsnode.upstream.link import Link
from wsnode.upstream.messages import NOTHING

FIRST_DELAY: Final = 0.025
MAX_DELAYS: Final = 2.0
"""Seconds within which an announced block is asked for again, as long as it cannot be read yet."""
SHORT: Final = 1 << 18
"""Bytes up to which blocks are read in the event loop: a thread costs more."""
_ABSENT: Final = ("not found", "unknown block", "missing", "does not exist yet")

RAW: Final = "debug_getRawBlock"
SHOWN: Final = 40
"""Maximum number of members that an error names, and most characters of each."""
_MEMBERS: Final = re.compile(
    "parentHash|sha3Uncles|miner|author|stateRoot|transactionsRoot|receiptsRoot|logsBloom|difficulty|number"
    "|gasLimit|gasUsed|timestamp|extraData|mixHash|nonce|baseFeePerGas|withdrawalsRoot|blobGasUsed"
    "|excessBlobGas|parentBeaconBlockRoot|requestsHash|blockAccessListHash|slotNumber|hash|size"
    "|totalDifficulty|transactions|uncles|withdrawals"
)
"""Members of a block in JSON up to Amsterdam, and members that nodes add beside the header's."""


class UnknownForkError(UpstreamError):
    """Error of a block of a fork that this version does not know; the upstream may well be right."""

    def __init__(self, block: int | None, members: str) -> None:
        super().__init__(
            "unknown fork",
            f"block {block} is of a fork that this version does not know: its header has {members}. The head "
            "stays at the block before that fork; follow on with a newer version of wsnode",
        )


class UnscheduledForkError(UnknownForkError):
    """Error of a block of a fork that the chain's genesis schedules later or never; its sender may be
    right.
    """

    def __init__(self, block: int, key: str, name: str) -> None:
        UpstreamError.__init__(
            self,
            "unknown fork",
            f"block {block} has header members of {name}, which the genesis does not schedule by then. The "
            f"head stays at the block before that fork; follow on with a genesis whose config.{key} is right",
        )


class UnsupportedBlockError(UnknownForkError):
    """Error of a block beyond the chain's rules, as far as they are known here; its sender may be right."""

    def __init__(self, detail: str) -> None:
        UpstreamError.__init__(self, "unsupported", detail)


HEADER_RULES: Final = frozenset(
    {"base_fee", "difficulty", "extra_data", "gas_limit", "nonce", "timestamp", "withdrawals_presence"}
)
"""Names of rules that a chain outside the table may not have; hashes and roots bind the other members."""


def unreadable(error: InvalidBlockError, spec: ChainSpec | None = None) -> UpstreamError:
    """Return the error of a block that cannot be read, by the rules of a chain if its `spec` is known."""
    if error.rule != "transaction_type":
        return UpstreamError("invalid", str(error))
    whose = "any chain known here" if spec is None else f"chain {named(spec.chain_id)}"
    unknown = None if spec is None else unknown_chain(spec)
    sentence = f"{error}: the rules of {whose} have no such transactions"
    return UnsupportedBlockError(sentence if unknown is None else f"{sentence}. {unknown}")


def beyond_rules(spec: ChainSpec, error: InvalidBlockError) -> UnsupportedBlockError | None:
    """Return the error of a block of an unknown chain that breaks a header rule of Ethereum, None for any
    other block.
    """
    unknown = unknown_chain(spec)
    if unknown is None or error.rule not in HEADER_RULES:
        return None
    return UnsupportedBlockError(f"{error}. {unknown}")


class RpcBlock(msgspec.Struct):
    """Number, hash and parent of a header or block in JSON, and its ommers' hashes."""

    hash: str
    number: str
    parent_hash: str = msgspec.field(name="parentHash")
    uncles: list[str] = []

    @property
    def head(self) -> Head:
        """Return the block's number and hash.

        Raises:
            MalformedError: A member has another form.
        """
        return Head(BlockNumber(decode_quantity(self.number)), Hash32(decode_bytes(self.hash, 32)))


_TOLD = JsonDecoder[RpcBlock | None](RpcBlock | None)


def decode_rpc_block(text: bytes) -> RpcBlock | None:
    """Return the number, hash, parent and ommers of a header or block in JSON, None for null.

    Raises:
        UpstreamError: The text has another form.
    """
    try:
        block = _TOLD.decode(text)
        if block is not None:
            _ = block.head
    except MalformedError as error:
        raise UpstreamError("invalid", f"it sent a malformed block: {error}") from None
    return block


async def head_at(upstream: Upstream, tag: str, link: Link | None = None) -> Head | None:
    """Return the block that an upstream has at a number or tag, None if it has none.

    Raises:
        UpstreamError: The upstream gives no answer.
    """
    try:
        text = await upstream.client.ask_text("eth_getBlockByNumber", [tag, False], link=link)
    except UpstreamRefusedError as error:
        # geth answers with an error for `safe` and `finalized` before such a block exists, and for numbers
        # above its head.
        if is_absent(error):
            return None
        raise
    block = upstream.client.read(decode_rpc_block, text)
    return None if block is None else block.head


async def number_of(upstream: Upstream, block_hash: Hash32, link: Link) -> int | None:
    """Return the number of a block, None if the upstream has no such block.

    Raises:
        UpstreamError: The upstream gives no answer.
    """
    try:
        text = await upstream.client.ask_text(
            "eth_getBlockByHash", [hexadecimal(block_hash), False], link=link
        )
    except UpstreamRefusedError as error:
        if is_absent(error):
            return None
        raise
    block = upstream.client.read(decode_rpc_block, text)
    return None if block is None else block.head.number


async def block_if_there(upstream: Upstream, link: Link, wanted: Hash32) -> bytes | None:
    """Return the RLP of a block, None if the upstream does not have it now.

    Raises:
        UpstreamError: The upstream gives no answer; `invalid` if another block was given.
    """
    encoded = await _asked(upstream, hexadecimal(wanted), "eth_getBlockByHash", link)
    if encoded is not None and block_hash(encoded) != wanted:
        raise UpstreamError("invalid", f"its block {hexadecimal(wanted)} has another hash")
    return encoded


async def block_of_hash(
    upstream: Upstream, link: Link, wanted: Hash32, on_absent: Callable[[], None] | None = None
) -> bytes:
    """Return the RLP of a block; call `on_absent` and ask again while it is not there yet.

    Raises:
        UpstreamError: `absent` if it is not there in time, `invalid` if another block was given.
    """
    return await asked_again(partial(block_if_there, upstream, link, wanted), hexadecimal(wanted), on_absent)


def _encoded_block(text: bytes, block: RpcBlock, ommers: list[bytes]) -> bytes:
    """Return the RLP of a block in JSON.

    Raises:
        UnknownForkError: Its hash differs when unknown members of its header are left out.
        InvalidBlockError: The text is no block.
    """
    encoded = encode_json_block(text, ommers)
    if block_hash(encoded) != block.head.hash:
        members: dict[str, object] = msgspec.json.decode(text)
        if unknown := sorted(name[:SHOWN] for name in members if not _MEMBERS.fullmatch(name))[:SHOWN]:
            raise UnknownForkError(block.head.number, f"unknown members: {', '.join(unknown)}")
    return encoded


async def asked_again(
    ask: Callable[[], Awaitable[bytes | None]], name: str, on_absent: Callable[[], None] | None = None
) -> bytes:
    """Return the result of `ask`; call `on_absent` and ask again while it is None.

    Raises:
        UpstreamError: `absent`, with `name`, if it is None for `MAX_DELAYS` seconds.
    """
    delay, waited = FIRST_DELAY, 0.0
    while (found := await ask()) is None:
        if on_absent is not None:
            on_absent()
        if waited >= MAX_DELAYS:
            raise UpstreamError("absent", name)
        await trio.sleep(delay)
        waited, delay = waited + delay, min(2 * delay, MAX_DELAYS - waited)
    return found


async def block_of_number(upstream: Upstream, number: int) -> bytes:
    """Return the RLP of a block that an upstream names as canonical; not verified.

    Raises:
        UpstreamError: `absent` if it has none, `invalid` if another block was given.
    """
    encoded = await _asked(upstream, hex(number), "eth_getBlockByNumber", None)
    if encoded is None:
        raise UpstreamError("absent", f"block {number}")
    if _is_another(encoded, number):
        raise UpstreamError("invalid", f"its block {number} has the number {block_number(encoded)}")
    return encoded


def _is_another(encoded: bytes, number: int) -> bool:
    """Return True if a block has another number; one without a number is refused when it is decoded."""
    return block_number(encoded) not in (None, number)


async def blocks_of_numbers(upstream: Upstream, numbers: Sequence[int]) -> list[bytes | None]:
    """Return the RLP of blocks that an upstream names as canonical, None for blocks to be asked for alone.

    Raises:
        UpstreamRefusedError: The upstream takes no batch, or none so large.
        UpstreamError: The upstream gives no answer, or no block.
    """
    calls = [[hex(number)] for number in numbers]
    if upstream.offers_raw in (None, True):
        answers = await upstream.client.ask_all(RAW, calls)
        if any(not isinstance(each, UpstreamRefusedError) for each in answers):
            return _without_others(await _in_thread_if_long(_all_raw, answers), numbers)
    answers = await upstream.client.ask_all("eth_getBlockByNumber", [[*call, True] for call in calls])
    return _without_others(await _in_thread_if_long(_all_encoded, answers), numbers)


def _without_others(blocks: Sequence[bytes | None], numbers: Sequence[int]) -> list[bytes | None]:
    """Return the blocks with None in place of each that has another number than asked for."""
    return [
        None if block is None or _is_another(block, number) else block
        for block, number in zip(blocks, numbers, strict=True)
    ]


async def _in_thread_if_long(
    read: Callable[[Sequence[bytes | UpstreamRefusedError]], list[bytes | None]],
    answers: Sequence[bytes | UpstreamRefusedError],
) -> list[bytes | None]:
    if sum(len(each) for each in answers if isinstance(each, bytes)) < SHORT:
        return read(answers)
    return await trio.to_thread.run_sync(read, answers)


def _all_raw(answers: Sequence[bytes | UpstreamRefusedError]) -> list[bytes | None]:
    return [
        None if isinstance(each, UpstreamRefusedError) or each == NOTHING else _bytes_of(each)
        for each in answers
    ]


def _all_encoded(answers: Sequence[bytes | UpstreamRefusedError]) -> list[bytes | None]:
    return [None if isinstance(each, UpstreamRefusedError) else _encoded_alone(each) for each in answers]


def _encoded_alone(text: bytes) -> bytes | None:
    """Return the RLP of a block in JSON, None for null and for a block whose ommers have to be asked for."""
    block = decode_rpc_block(text)
    if block is None or block.uncles:
        return None
    try:
        return _encoded_block(text, block, [])
    except InvalidBlockError as error:
        raise unreadable(error) from None


async def _asked(upstream: Upstream, wanted: str, method: str, link: Link | None) -> bytes | None:
    """Return the RLP of a block, None while the upstream has no such block."""
    try:
        if upstream.offers_raw in (None, True):
            encoded = await _raw(upstream, wanted, link)
            if upstream.offers_raw in (None, True):
                return encoded
        text = await upstream.client.ask_text(method, [wanted, True], link=link)
        return await _encoded(upstream, text, link)
    except UpstreamRefusedError as error:
        if is_absent(error):
            return None
        raise


async def _raw(upstream: Upstream, wanted: str, link: Link | None) -> bytes | None:
    try:
        text = await upstream.client.ask_text(RAW, [wanted], link=link)
    except UpstreamRefusedError as error:
        if is_absent(error) or error.is_about_rate:
            raise
        upstream.offers_raw = False
        return None
    if text == NOTHING:
        return None
    upstream.offers_raw = True
    return _bytes_of(text)


def _bytes_of(text: bytes) -> bytes:
    """Return the bytes of a JSON string of hexadecimal digits.

    Raises:
        UpstreamError: The text is no such string.
    """
    try:
        return bytes.fromhex(text[3:-1].decode())
    except ValueError:
        raise UpstreamError("invalid", f"{RAW} gives no hexadecimal text") from None


async def _encoded(upstream: Upstream, text: bytes, link: Link | None) -> bytes | None:
    block = upstream.client.read(decode_rpc_block, text)
    if block is None:
        return None
    ommers = []
    for index in range(len(block.uncles)):
        params = [block.hash, hex(index)]
        ommers.append(await upstream.client.ask_text("eth_getUncleByBlockHashAndIndex", params, link=link))
    try:
        if len(text) < SHORT:
            return _encoded_block(text, block, ommers)
        return await trio.to_thread.run_sync(_encoded_block, text, block, ommers)
    except InvalidBlockError as error:
        raise unreadable(error) from None


async def decoded(spec: ChainSpec, encoded: list[bytes]) -> list[UnverifiedBlock]:
    """Return the decoded blocks.

    Raises:
        UnknownForkError: A block is of a fork that is not known here.
        UpstreamError: A block is malformed, or a signature is invalid.
    """
    blocks, error = await decoded_first(spec, encoded)
    if error is not None:
        raise error
    return blocks


async def decoded_first(
    spec: ChainSpec, encoded: list[bytes]
) -> tuple[list[UnverifiedBlock], UpstreamError | None]:
    """Return the blocks before the first one that cannot be decoded, and its error; None if all can be."""
    if sum(map(len, encoded)) < SHORT // 16:
        blocks, error = decode_blocks(spec, encoded)
    else:
        blocks, error = await trio.to_thread.run_sync(decode_blocks, spec, encoded)
    for place, block in enumerate(blocks):
        if (fork := spec.unscheduled_fork(block)) is not None:
            return blocks[:place], UnscheduledForkError(block.number, *fork)
    if error is None:
        return blocks, None
    refused = encoded[min(len(blocks), len(encoded) - 1)]
    if (members := header_members(refused)) > KNOWN_MEMBERS:
        shown = f"{members} members, of which {KNOWN_MEMBERS} are known"
        return blocks, UnknownForkError(block_number(refused), shown)
    return blocks, unreadable(error, spec)


def is_absent(error: UpstreamRefusedError) -> bool:
    """Return True if an upstream says that it has no such block (yet)."""
    return any(words in error.message.lower() for words in _ABSENT)
