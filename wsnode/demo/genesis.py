"""Genesis of development chains: a fork in force from the first block, and accounts with ether."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from wsnode.ethereum.building.gas_limit import GAS_LIMIT_TARGET
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.state import fork_table
from wsnode.node.config import ConfigurationError

if TYPE_CHECKING:
    # Only a fork needs the modules that ask other nodes; without them every other chain starts sooner.
    from wsnode.node.services.fork_point import ForkBlock

EXTRA = b"wsnode dev"
CHAIN_ID: Final = 31337
CREATE2_DEPLOYER: Final = "0x4e59b44847b379578588920ca78fbf26c0b4956c"
"""Address of the contract that tools deploy with to predictable addresses; the same on nearly all chains."""

# Settings of each fork in geth's format, in the order of the forks; each fork also has the settings of all
# earlier ones. Before the first fork of this table transactions could not name their chain, as the
# transactions of all clients do today.
_BY_BLOCK: Final[Mapping[str, tuple[str, ...]]] = {
    "tangerine": ("homesteadBlock", "eip150Block", "eip155Block"),
    "spuriousdragon": ("eip158Block",),
    "byzantium": ("byzantiumBlock",),
    "constantinople": ("constantinopleBlock",),
    "petersburg": ("petersburgBlock",),
    "istanbul": ("istanbulBlock",),
    "muirglacier": ("muirGlacierBlock",),
    "berlin": ("berlinBlock",),
    "london": ("londonBlock",),
    "arrowglacier": ("arrowGlacierBlock",),
    "grayglacier": ("grayGlacierBlock",),
    "paris": ("mergeNetsplitBlock",),
}
_TABLE: Final = {fork.name.lower(): fork for fork in fork_table() if fork.is_by_time}
FORKS: Final = (*_BY_BLOCK, *(name for name, fork in _TABLE.items() if not fork.is_blobs_only))
DEFAULT_FORK: Final = "osaka"
"""Present fork of mainnet."""
GAS_TARGET_DIVISOR: Final = 2
"""Divisor of the gas limit: blocks that use the quotient do not change the base fee (EIP-1559)."""
LOWEST_DIFFICULTY: Final = 131_072
NEVER: Final = 2**63 - 1
BLOCK_DIGITS: Final = 20
"""Maximum number of decimal digits of a block's number."""


class ForkSource(msgspec.Struct, frozen=True):
    """Source of a fork: the URLs of the nodes of the chain to fork, and the number of the block to begin on,
    None for the first node's head.
    """

    urls: Sequence[str]
    block: int | None = None


def with_block(source: ForkSource) -> ForkSource:
    """Return a source whose URLs name no block, from anvil's form `URL@BLOCK` or `URL@latest`.

    Raises:
        ConfigurationError: The URLs name two different blocks, or a block below block 1.
    """
    urls, blocks = zip(*map(split_block, source.urls), strict=True)
    named = sorted({block for block in (source.block, *blocks) if block is not None})
    if len(named) > 1:
        raise ConfigurationError(f"--fork: a chain begins on one block, not on {named[0]} and {named[1]}")
    if named and not 1 <= named[0] < 1 << 63:
        raise ConfigurationError(f"--fork: a chain begins on block 1 or a later one, not on {named[0]}")
    return ForkSource(urls, named[0] if named else None)


def split_block(url: str) -> tuple[str, int | None]:
    """Return a URL without the block after its last `@`, and that block, None for `latest` or no block."""
    address, mark, block = url.rpartition("@")
    if not mark or not address.partition("://")[2]:
        return url, None
    if block == "latest":
        return address, None
    # Only a block number is split off: in `https://user@host` a host follows the `@`.
    is_block = block.isascii() and block.isdecimal() and len(block) <= BLOCK_DIGITS
    return (address, int(block)) if is_block else (url, None)


def demo_genesis() -> bytes:
    """Return the genesis of the demo chain, which never changes."""
    return Path(__file__).with_name("genesis.json").read_bytes()


def development_genesis(
    addresses: Iterable[bytes],
    balance: int,
    timestamp: int,
    *,
    chain_id: int = CHAIN_ID,
    fork: str = DEFAULT_FORK,
    gas_limit: int = GAS_LIMIT_TARGET,
    base_fee: int | None = None,
    has_create2_deployer: bool = True,
    accounts: Mapping[str, Any] | None = None,
    code_size_limit: int | None = None,
) -> bytes:
    """Return the JSON of a genesis under the rules of a fork, with `balance` wei for each address.

    With its gas limit as their target, blocks keep it, and the first block keeps its base fee. `accounts`, in
    geth's format, are added and override `addresses`.
    """
    genesis: dict[str, Any] = msgspec.json.decode(demo_genesis())
    alloc = {
        address: account
        for address, account in genesis["alloc"].items()
        if "code" in account
        # All other contracts of the demo's genesis are system contracts, which blocks call on their own
        # account.
        and (has_create2_deployer if address == CREATE2_DEPLOYER else has_begun(fork, "cancun"))
    }
    if has_begun(fork, "amsterdam"):
        alloc |= contracts_of("amsterdam")
    alloc |= {f"0x{address.hex()}": {"balance": hex(balance)} for address in addresses}
    alloc |= accounts or {}
    genesis |= {"timestamp": hex(timestamp), "extraData": f"0x{EXTRA.hex()}", "alloc": alloc}
    config = _config(genesis["config"], fork, chain_id, code_size_limit)
    genesis |= {"gasLimit": hex(gas_limit), "config": config}
    if base_fee is not None:
        genesis["baseFeePerGas"] = hex(base_fee)
    if has_begun(fork, "london"):
        # Half of the gas limit, the gas target, keeps the first block's base fee equal to the genesis
        # block's.
        genesis["gasUsed"] = hex(gas_limit // GAS_TARGET_DIVISOR)
    else:
        del genesis["baseFeePerGas"]
    if not has_begun(fork, "paris"):
        genesis["difficulty"] = hex(LOWEST_DIFFICULTY)
    return msgspec.json.format(msgspec.json.encode(genesis), indent=2)


def forked_genesis(
    first: "ForkBlock",
    *,
    chain_id: int | None = None,
    fork: str | None = None,
    code_size_limit: int | None = None,
) -> bytes:
    """Return the JSON that replaces the genesis of a chain on another chain's block.

    The rules of `fork` are in force from that block on, by default the block's own. The accounts are
    contracts that blocks of the fork call, set on top of the block's state.
    """
    known = msgspec.json.decode(demo_genesis())
    newest = known["config"]
    name = fork or first.fork
    config = _config(newest, name, chain_id or first.chain_id, code_size_limit)
    if first.blobs is not None and "blobSchedule" in config:
        config["blobSchedule"][name] = first.blobs
    config |= first.config
    genesis = {
        "config": config,
        "alloc": {address: known["alloc"][address] for address in first.absent}
        if has_begun(name, "cancun")
        else {},
        "extraData": f"0x{EXTRA.hex()}",
        "firstBlock": hexadecimal(first.encoded),
        "firstFamily": first.family,
        "firstChain": first.network,
        "firstReceipts": hexadecimal(first.receipts),
    }
    return msgspec.json.format(msgspec.json.encode(genesis), indent=2)


def contracts_of(fork: str) -> dict[str, dict[str, str]]:
    """Return the contracts that the protocol uses from a fork on, as accounts in geth's format."""
    codes = _TABLE[fork].contract_codes
    return {address: {"nonce": "0x1", "balance": "0x0", "code": code} for address, code in codes}


def has_begun(fork: str, earlier: str) -> bool:
    """Return True if the rules of `earlier` are in force at `fork`."""
    return FORKS.index(fork) >= FORKS.index(earlier)


def _config(
    newest: Mapping[str, Any], fork: str, chain_id: int, code_size_limit: int | None
) -> dict[str, Any]:
    config: dict[str, Any] = {"chainId": chain_id}
    if code_size_limit is not None:
        config["contractSizeLimit"] = code_size_limit
    for name in FORKS[: FORKS.index(fork) + 1]:
        config |= dict.fromkeys(_BY_BLOCK.get(name, (f"{name}Time",)), 0)
    if fork == "constantinople":
        # Petersburg revoked Constantinople's prices of storage, and is by default in force together with it.
        config["petersburgBlock"] = NEVER
    if not has_begun(fork, "paris"):
        return config | {"ethash": {}}
    schedule = {name: blobs for name, blobs in newest["blobSchedule"].items() if has_begun(fork, name)}
    config |= {"terminalTotalDifficulty": 0, "blobSchedule": schedule}
    return config | {"depositContractAddress": newest["depositContractAddress"]}
