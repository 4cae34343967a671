"""The genesis of development chains: a fork in force from the first block on, and accounts with ether."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from wsnode.ethereum.building.gas_limit import GAS_LIMIT_TARGET
from wsnode.ethereum.primitives.values import hexadecimal

if TYPE_CHECKING:
    # A chain that begins nowhere else starts sooner without what asks other nodes.
    from wsnode.node.growth.fork_point import FirstBlock

EXTRA = b"wsnode dev"
CHAIN_ID: Final = 31337

# Each fork's settings in geth's format, in the order of the forks; each has those before it as well. Before
# the first one transactions could not name their chain, as those of all clients do today.
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
_BY_TIME: Final = ("shanghai", "cancun", "prague", "osaka")
FORKS: Final = (*_BY_BLOCK, *_BY_TIME)
LOWEST_DIFFICULTY: Final = 131_072
NEVER: Final = 2**63 - 1


class ForkSource(msgspec.Struct, frozen=True):
    """The nodes of the chain to begin on, and the number of the block, the first one's head if None."""

    urls: Sequence[str]
    block: int | None = None


def demo_genesis() -> bytes:
    """Return the genesis of the demo chain, which never changes."""
    return Path(__file__).with_name("genesis.json").read_bytes()


def development_genesis(
    addresses: Iterable[bytes],
    balance: int,
    timestamp: int,
    *,
    chain_id: int = CHAIN_ID,
    fork: str = FORKS[-1],
    gas_limit: int = GAS_LIMIT_TARGET,
    base_fee: int | None = None,
    accounts: Mapping[str, Any] | None = None,
) -> bytes:
    """Return a genesis under the rules of a fork, with `balance` wei for each address.

    Blocks keep its gas limit if it is their target. `accounts`, in geth's format, are part of it too and
    override `addresses`.
    """
    genesis: dict[str, Any] = msgspec.json.decode(demo_genesis())
    alloc = {}
    if has_begun(fork, "cancun"):
        # The contracts that blocks call on their own account stay.
        alloc = {address: account for address, account in genesis["alloc"].items() if "code" in account}
    alloc |= {f"0x{address.hex()}": {"balance": hex(balance)} for address in addresses}
    alloc |= accounts or {}
    genesis |= {"timestamp": hex(timestamp), "extraData": f"0x{EXTRA.hex()}", "alloc": alloc}
    genesis |= {"gasLimit": hex(gas_limit), "config": _config(genesis["config"], fork, chain_id)}
    if base_fee is not None:
        genesis["baseFeePerGas"] = hex(base_fee)
    if not has_begun(fork, "london"):
        del genesis["baseFeePerGas"]
    if not has_begun(fork, "paris"):
        genesis["difficulty"] = hex(LOWEST_DIFFICULTY)
    return msgspec.json.format(msgspec.json.encode(genesis), indent=2)


def forked_genesis(first: "FirstBlock", *, chain_id: int | None = None, fork: str | None = None) -> bytes:
    """Return what stands for the genesis of a chain that begins on another chain's block.

    The rules of a fork are in force from that block on: those that are in force at it unless one is named.
    Its accounts are set on top of the block's state: contracts that blocks of the fork call.
    """
    known = msgspec.json.decode(demo_genesis())
    newest = known["config"]
    name = fork or first.fork
    config = _config(newest, name, chain_id or first.chain_id)
    if first.blobs is not None and "blobSchedule" in config:
        config["blobSchedule"][name] = first.blobs
    genesis = {
        "config": config,
        "alloc": {address: known["alloc"][address] for address in first.absent}
        if has_begun(name, "cancun")
        else {},
        "extraData": f"0x{EXTRA.hex()}",
        "firstBlock": hexadecimal(first.encoded),
        "firstReceipts": hexadecimal(first.receipts),
    }
    return msgspec.json.format(msgspec.json.encode(genesis), indent=2)


def has_begun(fork: str, earlier: str) -> bool:
    """Return whether the rules of `earlier` are in force at `fork`."""
    return FORKS.index(fork) >= FORKS.index(earlier)


def _config(newest: Mapping[str, Any], fork: str, chain_id: int) -> dict[str, Any]:
    config: dict[str, Any] = {"chainId": chain_id}
    for name in FORKS[: FORKS.index(fork) + 1]:
        config |= dict.fromkeys(_BY_BLOCK.get(name, (f"{name}Time",)), 0)
    if fork == "constantinople":
        # Petersburg revoked its prices of storage, and is in force with it by default.
        config["petersburgBlock"] = NEVER
    if not has_begun(fork, "paris"):
        return config | {"ethash": {}}
    schedule = {name: blobs for name, blobs in newest["blobSchedule"].items() if has_begun(fork, name)}
    config |= {"terminalTotalDifficulty": 0, "blobSchedule": schedule}
    return config | {"depositContractAddress": newest["depositContractAddress"]}
