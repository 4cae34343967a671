"""First output of `wsnode demo` and `wsnode dev`: addresses, accounts, a first request."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from wsnode.demo.accounts import MNEMONIC, FundedAccount
from wsnode.demo.genesis import CHAIN_ID
from wsnode.ethereum.codec.addresses import checksummed
from wsnode.ethereum.codec.rows import Header
from wsnode.ethereum.development.control import ForkedFrom
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.node.listen_address import ListenAddress, announce_ready

_ADDRESSES: Final = """
{what}.
Any API key will do, and none at all:

  WebSocket  ws://{address}
  HTTP       http://{address}
  Browser    http://{address}/
"""
_CONTRACTS: Final = """\
  token      {token}  (DEMO, 18 decimals)
  exchange   {exchange}  (ether for DEMO)
  alt chain  contracts 0x7a17 (Cairo 0) and 0xc0c0 (Sierra)
"""
_REQUEST: Final = """
Try: curl http://{address} -H 'content-type: application/json' \\
       -d '{{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}}'
"""
_WATCH: Final = """
Or over WebSocket:
  {{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["logs",{{}}]}}
"""
_WARNING: Final = """
These keys are in everybody's tests: never send real funds to them.
Ctrl-C stops."""


def introduce_demo(address: ListenAddress, accounts: Sequence[FundedAccount], block_time: float) -> None:
    """Print the addresses, accounts and commands with which to try the demo."""
    from wsnode.demo import exchange, token

    announce_ready(address)
    what = f"The demo chain (id {CHAIN_ID}), {rhythm(block_time)}"
    print(_ADDRESSES.format(what=what, address=address), end="")
    print(_CONTRACTS.format(token=checksummed(token.ADDRESS), exchange=checksummed(exchange.ADDRESS)), end="")
    print((_REQUEST + _WATCH).format(address=address))
    _list(accounts, MNEMONIC)


class BannerContent(msgspec.Struct, frozen=True, kw_only=True):
    """Contents of a development chain's first output: accounts with their keys, balance, mnemonic, chain id,
    first block, fork. `block_time` is in seconds, 0 for a block on each transaction.
    """

    accounts: Sequence[FundedAccount]
    balance: int
    """Balance of each account of a new chain, in wei."""
    mnemonic: str
    block_time: float
    chain_id: int
    first: Header
    """Header of the first block."""
    fork: ForkedFrom | None = None


def introduce_development(content: BannerContent, address: ListenAddress) -> None:
    """Print the addresses and accounts with which to run tests on a development chain, and its fork."""
    announce_ready(address)
    what = f"A development chain (id {content.chain_id}), {rhythm(content.block_time)}"
    if (fork := content.fork) is not None:
        block = f"block {fork.block.number}\n{hexadecimal(fork.block.hash)}"
        what += f",\nforked from {fork.url} at {block}"
        what += "".join(f"\n{line}" for line in described(fork))
    print(_ADDRESSES.format(what=what, address=address))
    _list(content.accounts, content.mnemonic)


def described(fork: ForkedFrom) -> Iterator[str]:
    """Yield lines about a forked chain: its name and family, and the features that a fork of it lacks."""
    if fork.network is not None:
        from wsnode.ethereum.networks.table import find_network

        network = find_network(fork.network)
        yield f"Chain {network.name}: {network.title}, family {network.family}"
        yield from network.fork_notes


def rhythm(block_time: float) -> str:
    """Return the time between blocks as text."""
    return f"a block every {block_time:g} s" if block_time else "a block for each transaction"


def _list(accounts: Sequence[FundedAccount], mnemonic: str) -> None:
    """Print addresses, then keys, in two lists as anvil does: one list would be wider than a terminal."""
    print(f"Accounts of the mnemonic\n  {mnemonic}\n")
    for index, account in enumerate(accounts):
        print(f"  ({index}) {checksummed(account.address)}")
    print("\nTheir private keys\n")
    for index, account in enumerate(accounts):
        print(f"  ({index}) 0x{account.secret.hex()}")
    print(_WARNING, flush=True)


def page_of(
    accounts: Sequence[FundedAccount],
    *,
    mnemonic: str = MNEMONIC,
    contracts: Mapping[str, bytes] | None = None,
) -> dict[str, Any]:
    """Return accounts and contracts for the page at `/`, with keys only if the phrase is the default one."""
    is_known = mnemonic == MNEMONIC
    return {
        "accounts": [
            {"address": checksummed(each.address), "key": f"0x{each.secret.hex()}" if is_known else None}
            for each in accounts
        ],
        "contracts": {name: checksummed(address) for name, address in (contracts or {}).items()},
    }
