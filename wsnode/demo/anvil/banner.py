"""First output of `wsnode anvil` in anvil's form, which scripts and libraries parse."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from wsnode.demo.banner import BannerContent, described
from wsnode.ethereum.codec.addresses import checksummed
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.node.listen_address import ListenAddress

ETHER: Final = 10**18
GAS_PRICE: Final = 1_875_000_000
"""Gas price in wei that anvil writes unless one is given."""
RULE: Final = "=================="


class AnvilBanner(msgspec.Struct, frozen=True, kw_only=True):
    """Settings shown only in anvil's first output, or that only direct it: derivation path, prices in wei,
    gas limit, file for the settings as JSON (`--config-out`), and path of the Unix socket.
    """

    derivation_path: str
    gas_price: int | None = None
    gas_limit: int | None = None
    """Gas limit of the command line, None if it names none."""
    config_out: Path | None = None
    ipc: Path | None = None
    is_quiet: bool = False


def introduce(anvil: AnvilBanner, content: BannerContent, address: ListenAddress) -> None:
    """Print accounts, keys and settings, then the node's address; write the file of `--config-out`."""
    if anvil.config_out is not None:
        anvil.config_out.write_bytes(msgspec.json.encode(config_out(anvil, content)))
    if not anvil.is_quiet:
        print("\n".join(_lines(anvil, address, content)), flush=True)


def _lines(anvil: AnvilBanner, address: ListenAddress, content: BannerContent) -> Iterator[str]:
    yield "wsnode, in anvil's place"
    yield from _section("Available Accounts")
    for index, account in enumerate(content.accounts):
        yield f"({index}) {checksummed(account.address)} ({_ether(content.balance)} ETH)"
    yield from _section("Private Keys")
    for index, account in enumerate(content.accounts):
        yield f"({index}) {hexadecimal(account.secret)}"
    yield from _section("Wallet", is_dense=True)
    yield f"Mnemonic:          {content.mnemonic}"
    yield f"Derivation path:   {anvil.derivation_path}"
    if content.fork is not None:
        yield from _section("Fork", is_dense=True)
        yield f"Endpoint:       {content.fork.url}"
        yield f"Block number:   {content.fork.block.number}"
        yield f"Block hash:     {hexadecimal(content.fork.block.hash)}"
        yield f"Chain ID:       {content.chain_id}"
        yield from described(content.fork)
    first = content.first
    yield from _value("Chain ID", content.chain_id)
    if first.base_fee is not None:
        yield from _value("Base Fee", first.base_fee)
    yield from _value("Gas Limit", first.gas_limit)
    yield from _value("Genesis Timestamp", first.timestamp)
    yield from _value("Genesis Number", first.number)
    yield "" if anvil.ipc is None else f"\nIPC path: {anvil.ipc}"
    yield f"Listening on {address}"


def config_out(anvil: AnvilBanner, content: BannerContent) -> dict[str, object]:
    """Return the members of the file of `--config-out`, with anvil's names."""
    first = content.first
    known: dict[str, object] = {
        "available_accounts": [hexadecimal(account.address) for account in content.accounts],
        "private_keys": [hexadecimal(account.secret) for account in content.accounts],
        "wallet": {"derivation_path": anvil.derivation_path, "mnemonic": content.mnemonic},
        "base_fee": str(first.base_fee or 0),
        "gas_price": str(GAS_PRICE if anvil.gas_price is None else anvil.gas_price),
        "gas_limit": None if anvil.gas_limit is None else str(anvil.gas_limit),
    }
    if content.fork is None:
        return known | {"genesis_timestamp": str(first.timestamp)}
    block = content.fork.block
    return known | {
        "endpoint": content.fork.url,
        "block_number": block.number,
        "block_hash": hexadecimal(block.hash),
        "chain_id": content.chain_id,
    }


def _section(title: str, *, is_dense: bool = False) -> Iterator[str]:
    yield f"\n{title}"
    yield RULE
    if not is_dense:
        yield ""


def _value(title: str, value: int) -> Iterator[str]:
    yield from _section(title)
    yield str(value)


def _ether(wei: int) -> str:
    return f"{wei // ETHER}.{wei % ETHER:018}"
