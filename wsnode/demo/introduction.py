"""The first output of `wsnode demo` and `wsnode dev`: addresses, accounts, a first request."""

from collections.abc import Sequence
from typing import Final

from wsnode.demo import exchange, token
from wsnode.demo.accounts import MNEMONIC, Account
from wsnode.demo.genesis import CHAIN_ID
from wsnode.ethereum.codec.addresses import checksummed
from wsnode.node.addresses import Address, announce_ready

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


def introduce_demo(address: Address, accounts: Sequence[Account], block_time: float) -> None:
    """Print the addresses, accounts and commands with which to try the demo."""
    announce_ready(address)
    what = f"The demo chain (id {CHAIN_ID}), {rhythm(block_time)}"
    print(_ADDRESSES.format(what=what, address=address), end="")
    print(_CONTRACTS.format(token=checksummed(token.ADDRESS), exchange=checksummed(exchange.ADDRESS)), end="")
    print((_REQUEST + _WATCH).format(address=address))
    _list(accounts, MNEMONIC)


def introduce_development(
    address: Address, accounts: Sequence[Account], block_time: float, mnemonic: str, chain_id: int
) -> None:
    """Print the addresses and accounts with which to run tests on a development chain."""
    announce_ready(address)
    what = f"A development chain (id {chain_id}), {rhythm(block_time)}"
    print(_ADDRESSES.format(what=what, address=address))
    _list(accounts, mnemonic)


def rhythm(block_time: float) -> str:
    """Return when blocks come."""
    return f"a block every {block_time:g} s" if block_time else "a block for each transaction"


def _list(accounts: Sequence[Account], mnemonic: str) -> None:
    """Print addresses and keys, each list as anvil does: together they are wider than a terminal."""
    print(f"Accounts of the mnemonic\n  {mnemonic}\n")
    for index, account in enumerate(accounts):
        print(f"  ({index}) {checksummed(account.address)}")
    print("\nTheir private keys\n")
    for index, account in enumerate(accounts):
        print(f"  ({index}) 0x{account.secret.hex()}")
    print(_WARNING, flush=True)
