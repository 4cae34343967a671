"""What `wsnode demo` and `wsnode dev` print: addresses to paste, accounts, a first request."""

from collections.abc import Sequence
from typing import Final

from wsnode.addresses import Address
from wsnode.demo import exchange, token
from wsnode.demo.accounts import MNEMONIC, Account
from wsnode.demo.script import CHAIN_ID
from wsnode.terminal import announce_ready

_ADDRESSES: Final = """
{what}; any API key will do, and none at all:

  WebSocket  ws://{address}
  HTTP       http://{address}
"""
_CONTRACTS: Final = """\
  token      0x{token}  (DEMO, 18 decimals)
  exchange   0x{exchange}  (ether for DEMO)
  alt chain  contracts 0x7a17 (Cairo 0) and 0xc0c0 (Sierra)
"""
_REQUEST: Final = """
Try: curl http://{address} -H 'content-type: application/json' \\
       -d '{{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["latest",true]}}'
"""
_WATCH: Final = """
Or over WebSocket: {{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["logs",{{}}]}}
"""
_WARNING: Final = "\nPublic keys of everybody's tests: never send real funds to them. Ctrl-C stops."


def introduce_demo(address: Address, accounts: Sequence[Account], block_time: float) -> None:
    """Print what a user needs to try the demo."""
    announce_ready(address)
    print(
        _ADDRESSES.format(what=f"The demo chain (id {CHAIN_ID}), {rhythm(block_time)}", address=address),
        end="",
    )
    print(_CONTRACTS.format(token=token.ADDRESS.hex(), exchange=exchange.ADDRESS.hex()), end="")
    print((_REQUEST + _WATCH).format(address=address))
    _list(accounts, MNEMONIC)


def introduce_development(
    address: Address, accounts: Sequence[Account], block_time: float, mnemonic: str
) -> None:
    """Print what a user needs to point tests at a development chain."""
    announce_ready(address)
    print(
        _ADDRESSES.format(what=f"A development chain (id {CHAIN_ID}), {rhythm(block_time)}", address=address)
    )
    _list(accounts, mnemonic)


def rhythm(block_time: float) -> str:
    """Return when blocks come."""
    return f"a block every {block_time:g} s" if block_time else "a block for each transaction"


def _list(accounts: Sequence[Account], mnemonic: str) -> None:
    print(f'Accounts of the mnemonic "{mnemonic}":')
    for account in accounts:
        print(f"  0x{account.address.hex()}  key 0x{account.secret.hex()}")
    print(_WARNING, flush=True)
