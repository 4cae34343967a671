"""First block of a forked chain: fetched from a node, verified, and kept for the next start."""

import os
import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import trio

from wsnode.ethereum.codec.blocks import (
    arbos_fork,
    encode_json_block,
    encode_proved_receipts,
    keccak256,
    read_json_header,
)
from wsnode.ethereum.head import Head
from wsnode.ethereum.networks import arbitrum
from wsnode.ethereum.networks.row import Network
from wsnode.ethereum.networks.rules import CANCUN_CONTRACTS, PRAGUE_CONTRACTS, fork_config, rules_at
from wsnode.ethereum.networks.table import known_network
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal
from wsnode.ethereum.state import InvalidBlockError
from wsnode.ethereum.storage.folder import ChainFolder
from wsnode.jsonrpc.errors import METHOD_NOT_FOUND
from wsnode.node.config import ConfigurationError
from wsnode.store.private import make_private_folder, write_private
from wsnode.sync.follow.blocks.block_client import is_absent
from wsnode.sync.proofs.proof_window import oldest_proved
from wsnode.untrusted.decoding import JsonDecoder, MalformedError, decode_quantity
from wsnode.untrusted.files import read_file
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.client import Client, running
from wsnode.upstream.errors import AddressError, UpstreamError, UpstreamRefusedError
from wsnode.upstream.messages import NOTHING, decode_result

OSAKA_CONTRACT: Final = "P256VERIFY"
"""Name in eth_config of the precompiled contract that came with Osaka."""
SETTLED: Final = (
    ("slotNumber", "amsterdam"),
    ("requestsHash", "prague"),
    ("parentBeaconBlockRoot", "cancun"),
    ("withdrawalsRoot", "shanghai"),
)
"""Members of a header, and the forks that added them, the latest first."""
SECONDS: Final = 30.0
"""Seconds to wait for an answer: nodes that are forks themselves first fetch the proved values."""
NO_CODE: Final = b'"0x"'
FIRST_FILE: Final = "first.json"
PROVED: Final = "proved"
MAX_FIRST_BYTES: Final = 64 << 20
"""Maximum bytes of a kept block with its receipts."""


class _Rules(msgspec.Struct):
    """Rules of one fork in a result of `eth_config`: the time of activation, the precompiles and the blob
    schedule.
    """

    since: int = msgspec.field(name="activationTime", default=0)
    """Time of activation, in seconds since 1970."""
    precompiles: dict[str, str] = {}
    blobs: dict[str, int] | None = msgspec.field(name="blobSchedule", default=None)


class _Configuration(msgspec.Struct):
    current: _Rules


_CONFIGURATION: Final = JsonDecoder(_Configuration)


class ForkBlock(msgspec.Struct, frozen=True):
    """Block of another chain on which a development chain begins, with the fork rules in force there."""

    chain_id: int
    number: int
    block_hash: bytes
    encoded: bytes
    """RLP of the block."""
    receipts: bytes
    """Receipts in the form of the store's row."""
    fork: str
    """Name of the fork in force at the block, as `--hardfork` takes it."""
    blobs: dict[str, int] | None = None
    """Blob schedule in force, as the block's node reports it."""
    absent: Sequence[str] = ()
    """Addresses of system contracts of the fork without code on the chain."""
    network: str | None = None
    """Name of the block's chain, None unless it is a known one with rules of its own."""
    family: str = "ethereum"
    """Family whose encodings the block has."""
    config: dict[str, Any] = {}
    """Members of the genesis's `config` beside Ethereum's forks, for a chain that begins on the block."""

    @property
    def head(self) -> Head:
        return Head(BlockNumber(self.number), Hash32(self.block_hash))


class ForkPoint(msgspec.Struct, frozen=True):
    """First block of a forked chain, and the folder that keeps proved values of its state."""

    block: ForkBlock
    proved: Path


_FIRST: Final = JsonDecoder(ForkBlock)


def client_of(url: str) -> Client:
    """Return a client of the node at a URL.

    Raises:
        ConfigurationError: The URL is invalid.
    """
    try:
        return Client(UpstreamAddress.parse(url), seconds=SECONDS)
    except AddressError as error:
        raise ConfigurationError(f"--fork: {error}") from None


def shown(url: str) -> str:
    """Return a URL without its path and its user, either of which may hold a key."""
    return str(client_of(url))


def fork_point(urls: Sequence[str], number: int | None) -> ForkPoint:
    """Return a block of the chain of the nodes at `urls`, by default the head of the first that answers.

    A block that an earlier start fetched by its number is kept, and is used without the nodes. If a node
    has another block of this number, it is fetched again.

    Raises:
        ConfigurationError: No node has a block on which a chain can begin.
    """
    failures = []
    for url in urls:
        try:
            return trio.run(_fork_point, url, number)
        except UpstreamError as error:
            failures.append(f"{client_of(url)}: {error}")
    raise ConfigurationError(f"--fork: {'; '.join(failures)}")


async def _fork_point(url: str, number: int | None) -> ForkPoint:
    client = client_of(url)
    async with running([client]):
        kept = None if number is None else _kept(url, number)
        if kept is not None and await _is_there(client, kept.block.head) is not False:
            return kept
        block = await fetch_first(client, number)
        folder = _folder(url, block.number)
        # The folder may hold the values of another block that had this number before.
        shutil.rmtree(folder, ignore_errors=True)
        write_private(folder / FIRST_FILE, msgspec.json.encode(block))
        return ForkPoint(block, folder / PROVED)


def link_proved(place: ChainFolder, proved: Path) -> None:
    """Link the folder of proved values in a new chain to `proved`, so that later starts find them there."""
    make_private_folder(place.path)
    proved.mkdir(exist_ok=True)
    place.proved.symlink_to(proved, target_is_directory=True)


def _kept(url: str, number: int) -> ForkPoint | None:
    folder = _folder(url, number)
    try:
        block = _FIRST.decode(read_file(folder / FIRST_FILE, MAX_FIRST_BYTES))
    except (OSError, MalformedError):
        return None
    return ForkPoint(block, folder / PROVED)


def _folder(url: str, number: int) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    # A URL may hold a key.
    return Path(base) / "wsnode" / "forks" / f"{keccak256(url.encode()).hex()[:16]}-{number}"


class UpstreamBlock(msgspec.Struct, frozen=True):
    """Block that a node sent: its JSON, its RLP, and members of its header, all from one answer."""

    text: bytes
    """JSON of the block, with whole transactions."""
    number: int
    block_hash: bytes
    """Hash of the header in the JSON."""
    parent_hash: bytes
    encoded: bytes
    """RLP of the block."""


async def fetch_first(client: Client, block: int | bytes | None, *, has_children: bool = True) -> ForkBlock:
    """Return a block of a node's chain, by default its head, with its receipts and the rules in force.

    `block` is a number or a hash. The absent contracts are looked up for a block that `has_children`.

    Raises:
        ConfigurationError: There is no such block, or no chain can begin on it.
        UpstreamError: The node gives no answer, or one in another form.
    """
    fetched = await fetch_block(client, block)
    name = {"blockHash": hexadecimal(fetched.block_hash)}
    quantity, _proof, receipts, absent = await _all_of(
        lambda: client.ask("eth_chainId", []),
        lambda: _require_proofs(client, name, fetched.number),
        lambda: client.ask_text("eth_getBlockReceipts", [hexadecimal(fetched.block_hash)]),
        lambda: _absent_contracts(client, name if has_children else None),
    )
    header, chain_id = client.read(decode_result, fetched.text), _number("chain id", quantity)
    network = _network_of(chain_id)
    family = "ethereum" if network is None else network.family
    try:
        row = encode_proved_receipts(fetched.encoded, receipts, family)
    except InvalidBlockError as error:
        raise UpstreamError("invalid", str(error)) from None
    if network is not None and network.family == arbitrum.FAMILY:
        # ArbOS changes its rules by its own version, which the block has.
        rules, blobs = arbos_fork(fetched.text), None
    else:
        rules, blobs = await _rules(client, header, chain_id)
    return ForkBlock(
        chain_id,
        fetched.number,
        fetched.block_hash,
        fetched.encoded,
        row,
        rules,
        blobs,
        absent,
        network=None if network is None else network.name,
        family=family,
        config={} if network is None else fork_config(network, _number("timestamp", header.get("timestamp"))),
    )


async def fetch_block(client: Client, block: int | bytes | None) -> UpstreamBlock:
    """Return a block of a node's chain by its number or its hash, by default the head.

    Raises:
        ConfigurationError: The node does not have it.
        UpstreamError: The node gives no answer, or one in another form.
    """
    text = await _block_text(client, block)
    try:
        number, block_hash, parent_hash = read_json_header(text)
        if block not in (None, number, block_hash):
            raise UpstreamError("invalid", f"block {_shown(number)} instead of {_shown(block)}")
        encoded = encode_json_block(text, [])
    except InvalidBlockError as error:
        raise UpstreamError("invalid", str(error)) from None
    return UpstreamBlock(text, number, block_hash, parent_hash, encoded)


def _shown(block: int | bytes | None) -> str:
    return "latest" if block is None else hexadecimal(block) if isinstance(block, bytes) else str(block)


async def _all_of(*questions: Callable[[], Awaitable[Any]]) -> list[Any]:
    """Return the answers to questions that are asked concurrently, in their order.

    Raises:
        ConfigurationError, UpstreamError: The first question without an answer.
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


def _number(name: str, quantity: Any) -> int:
    try:
        return decode_quantity(quantity)
    except MalformedError as error:
        raise UpstreamError("invalid", f"{name}: {error.reason}") from None


async def _block_text(client: Client, block: int | bytes | None) -> bytes:
    if isinstance(block, bytes):
        method, name = "eth_getBlockByHash", hexadecimal(block)
    else:
        method, name = "eth_getBlockByNumber", "latest" if block is None else hex(block)
    try:
        text = await client.ask_text(method, [name, True])
    except UpstreamRefusedError as error:
        if not is_absent(error):
            raise
        text = NOTHING
    if text == NOTHING:
        raise ConfigurationError(f"{client} has no block {_shown(block)}")
    return text


async def _absent_contracts(client: Client, block: dict[str, str] | None) -> list[str]:
    if block is None:
        return []
    addresses = list((CANCUN_CONTRACTS | PRAGUE_CONTRACTS).values())
    codes = await client.ask_each("eth_getCode", [[address, block] for address in addresses])
    for code in codes:
        if isinstance(code, UpstreamError):
            raise code
    return [address for address, code in zip(addresses, codes, strict=True) if code == NO_CODE]


async def _require_proofs(client: Client, block: dict[str, str], number: int) -> None:
    try:
        await client.ask_text("eth_getProof", ["0x" + "00" * 20, [], block])
    except UpstreamRefusedError as error:
        if error.code == METHOD_NOT_FOUND:
            raise ConfigurationError(f"{client} has no eth_getProof: {error.message}") from None
        oldest = await oldest_proved(client)
        other = "" if oldest is None else f", but of block {oldest} and later ones"
        words = f"{client} proves nothing of block {number}: {error.message}{other}"
        raise ConfigurationError(words) from None


def _network_of(chain_id: int) -> Network | None:
    """Return the known chain with an id, None if it is unknown or its rules are Ethereum's."""
    found = known_network(chain_id)
    return None if found is None or found.is_executed else found


async def _rules(client: Client, header: dict[str, Any], chain_id: int) -> tuple[str, dict[str, int] | None]:
    """Return the name of the fork in force at a block, and its blob schedule or None.

    Sources are the table of networks, the members of the header, and the node's eth_config.
    """
    network, time = known_network(chain_id), _number("timestamp", header.get("timestamp"))
    if network is not None and not network.is_executed:
        if "seal" not in network.fork_rules:
            _require_stake(header)
        return rules_at(network, time) or ("paris", None)
    settled = next((fork for member, fork in SETTLED if header.get(member) is not None), None)
    if settled is None:
        _require_stake(header)
        return "paris", None
    if settled not in ("prague", "amsterdam"):
        return settled, None
    try:
        current = client.read(_CONFIGURATION.decode, await client.ask_text("eth_config", [])).current
    except UpstreamError:
        return settled if settled == "amsterdam" else await _anvil_rules(client), None
    if current.since > time and network is not None:
        # The reported rules came into force after this block. A known network's own table has the block's
        # rules; without them the reported rules must do.
        found = rules_at(network, time)
        if found is not None:
            return found
    if settled == "amsterdam":
        return settled, current.blobs
    return "osaka" if OSAKA_CONTRACT in current.precompiles else "prague", current.blobs


def _require_stake(header: dict[str, Any]) -> None:
    if _number("difficulty", header.get("difficulty", "0x0")):
        raise ConfigurationError(
            "--fork: the block is of proof of work: begin on a later one, of proof of stake"
        )


async def _anvil_rules(client: Client) -> str:
    try:
        named = (await client.ask("anvil_nodeInfo", []))["hardFork"]
    except (UpstreamError, KeyError, TypeError):
        return "osaka"
    return "prague" if str(named).lower() == "prague" else "osaka"


async def _is_there(client: Client, head: Head) -> bool | None:
    """Return True if a node's chain has a block, None if the node gives no answer."""
    try:
        text = await client.ask_text("eth_getBlockByNumber", [hex(head.number), False])
        return text != b"null" and Hash32(read_json_header(text)[1]) == head.hash
    except (UpstreamError, InvalidBlockError):
        return None
