"""The block of another chain on which a chain begins: fetched, verified, and kept for the next start."""

import os
import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import trio

from wsnode.ethereum.codec.blocks import (
    encode_proved_receipts,
    encode_told_block,
    keccak256,
    read_told_header,
)
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal
from wsnode.ethereum.state import InvalidBlockError
from wsnode.ethereum.system_contracts import CANCUN_CONTRACTS, PRAGUE_CONTRACTS
from wsnode.jsonrpc.errors import METHOD_NOT_FOUND
from wsnode.node.config import ConfigurationError
from wsnode.node.growth.forking import client_of
from wsnode.sync.follow.blocks.fetching import is_absent
from wsnode.sync.proofs.depths import oldest_proved
from wsnode.upstream.client import Client, running
from wsnode.upstream.errors import RefusedError, UpstreamError
from wsnode.upstream.messages import NOTHING

OSAKA_CONTRACT: Final = "P256VERIFY"
"""The precompiled contract that came with Osaka, as eth_config names it."""
SETTLED: Final = (
    ("requestsHash", "prague"),
    ("parentBeaconBlockRoot", "cancun"),
    ("withdrawalsRoot", "shanghai"),
)
"""Members of a header, and the forks that they came with."""
NO_CODE: Final = b'"0x"'
FIRST_FILE: Final = "first.json"
PROVED: Final = "proved"


class _Rules(msgspec.Struct):
    """Of a result of eth_config."""

    precompiles: dict[str, str] = {}
    blobs: dict[str, int] | None = msgspec.field(name="blobSchedule", default=None)


class _Configuration(msgspec.Struct):
    current: _Rules


_CONFIGURATION: Final = msgspec.json.Decoder(_Configuration)


class FirstBlock(msgspec.Struct, frozen=True):
    """The block of another chain on which a chain begins."""

    chain_id: int
    number: int
    block_hash: bytes
    encoded: bytes
    """Its RLP."""
    receipts: bytes
    """The row of its receipts."""
    fork: str
    """The rules in force at it, by the name that `--hardfork` takes."""
    blobs: dict[str, int] | None = None
    """The blob schedule that its node says is in force."""
    absent: Sequence[str] = ()
    """The contracts that blocks call on their own account and that are not there."""

    @property
    def head(self) -> Head:
        """Return its number and hash."""
        return Head(BlockNumber(self.number), Hash32(self.block_hash))


class ForkPoint(msgspec.Struct, frozen=True):
    """A first block, and the folder in which what is proved of its state is kept."""

    block: FirstBlock
    proved: Path


def fork_point(url: str, number: int | None) -> ForkPoint:
    """Return a block of the chain of the node at a URL, by default its head.

    A block that a start before this one had by its number is there without the node, unless that has another.

    Raises:
        ConfigurationError: There is none on which a chain can begin.
    """
    try:
        return trio.run(_fork_point, url, number)
    except UpstreamError as error:
        raise ConfigurationError(f"--fork: {client_of(url)}: {error}") from None


async def _fork_point(url: str, number: int | None) -> ForkPoint:
    client = client_of(url)
    async with running([client]):
        kept = None if number is None else _kept(url, number)
        if kept is not None and await _is_there(client, kept.block.head) is not False:
            return kept
        block = await fetch_first(client, number)
        folder = _folder(url, block.number)
        # Another block had this number before.
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / FIRST_FILE).write_bytes(msgspec.json.encode(block))
        return ForkPoint(block, folder / PROVED)


def _kept(url: str, number: int) -> ForkPoint | None:
    folder = _folder(url, number)
    try:
        block = msgspec.json.decode((folder / FIRST_FILE).read_bytes(), type=FirstBlock)
    except (OSError, msgspec.DecodeError):
        return None
    return ForkPoint(block, folder / PROVED)


def _folder(url: str, number: int) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    # A URL may hold a key.
    return Path(base) / "wsnode" / "forks" / f"{keccak256(url.encode()).hex()[:16]}-{number}"


async def fetch_first(client: Client, number: int | None) -> FirstBlock:
    """Return a block of a node's chain, by default its head, with what a chain on top of it needs.

    Raises:
        ConfigurationError: There is none on which a chain can begin.
        UpstreamError: The node gives no answer, or one in another form.
    """
    text = await _block_text(client, number)
    try:
        found, block_hash, _parent = read_told_header(text)
        if number not in (None, found):
            raise UpstreamError("invalid", f"block {found} instead of {number}")
        encoded = encode_told_block(text, [])
        block = {"blockHash": hexadecimal(block_hash)}
        chain_id, (rules, blobs), _proof, receipts, absent = await _all_of(
            lambda: client.ask("eth_chainId", []),
            lambda: _rules(client, msgspec.json.decode(text)),
            lambda: _require_proofs(client, block, found),
            lambda: client.ask_text("eth_getBlockReceipts", [hexadecimal(block_hash)]),
            lambda: _absent_contracts(client, block),
        )
        row = encode_proved_receipts(encoded, receipts)
    except InvalidBlockError as error:
        raise UpstreamError("invalid", str(error)) from None
    return FirstBlock(_number(chain_id), found, block_hash, encoded, row, rules, blobs, absent)


async def _all_of(*questions: Callable[[], Awaitable[Any]]) -> list[Any]:
    """Return the answers to questions that are asked at once.

    Raises:
        ConfigurationError, UpstreamError: The first one of them that has none.
    """
    outcomes: list[Any] = [None] * len(questions)

    async def ask(place: int) -> None:
        try:
            outcomes[place] = await questions[place]()
        except (ConfigurationError, UpstreamError) as error:
            outcomes[place] = error

    async with trio.open_nursery() as nursery:
        for place in range(len(questions)):
            nursery.start_soon(ask, place)
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    return outcomes


def _number(quantity: Any) -> int:
    try:
        return int(quantity, 16)
    except (TypeError, ValueError) as error:
        raise UpstreamError("invalid", str(error)) from None


async def _block_text(client: Client, number: int | None) -> bytes:
    """Return the JSON of a block with whole transactions: all of it comes from one answer."""
    tag = "latest" if number is None else hex(number)
    try:
        text = await client.ask_text("eth_getBlockByNumber", [tag, True])
    except RefusedError as error:
        if not is_absent(error):
            raise
        text = NOTHING
    if text == NOTHING:
        raise ConfigurationError(f"{client} has no block {tag if number is None else number}")
    return text


async def _absent_contracts(client: Client, block: dict[str, str]) -> list[str]:
    addresses = list((CANCUN_CONTRACTS | PRAGUE_CONTRACTS).values())
    codes = await client.ask_each("eth_getCode", [[address, block] for address in addresses])
    for code in codes:
        if isinstance(code, UpstreamError):
            raise code
    return [address for address, code in zip(addresses, codes, strict=True) if code == NO_CODE]


async def _require_proofs(client: Client, block: dict[str, str], number: int) -> None:
    try:
        await client.ask_text("eth_getProof", ["0x" + "00" * 20, [], block])
    except RefusedError as error:
        if error.code == METHOD_NOT_FOUND:
            raise ConfigurationError(f"{client} has no eth_getProof: {error.message}") from None
        oldest = await oldest_proved(client)
        other = "" if oldest is None else f", but of block {oldest} and later ones"
        words = f"{client} proves nothing of block {number}: {error.message}{other}"
        raise ConfigurationError(words) from None


async def _rules(client: Client, header: dict[str, Any]) -> tuple[str, dict[str, int] | None]:
    """Return the fork in force at a block, and the blob schedule, as far as header and node say."""
    settled = next((fork for member, fork in SETTLED if header.get(member) is not None), None)
    if settled is None:
        if int(header.get("difficulty", "0x0"), 16):
            raise ConfigurationError("a chain begins on a block of proof of stake")
        return "paris", None
    if settled != "prague":
        return settled, None
    try:
        current = _CONFIGURATION.decode(await client.ask_text("eth_config", [])).current
    except (UpstreamError, msgspec.DecodeError):
        return await _anvil_rules(client), None
    return "osaka" if OSAKA_CONTRACT in current.precompiles else "prague", current.blobs


async def _anvil_rules(client: Client) -> str:
    try:
        named = (await client.ask("anvil_nodeInfo", []))["hardFork"]
    except (UpstreamError, KeyError, TypeError):
        return "osaka"
    return "prague" if str(named).lower() == "prague" else "osaka"


async def _is_there(client: Client, head: Head) -> bool | None:
    """Return whether a node's chain has a block, None if it gives no answer."""
    try:
        text = await client.ask_text("eth_getBlockByNumber", [hex(head.number), False])
        return text != b"null" and Hash32(read_told_header(text)[1]) == head.hash
    except (UpstreamError, InvalidBlockError):
        return None
