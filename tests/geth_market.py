"""geth with the demo's token and exchange, which the demo's script makes there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.geth_process import Addresses, started_geth
from tests.peers.anvil import ask_url
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import development_genesis
from wsnode.demo.script import blocks

APIS = "eth,net,debug,web3"


@contextmanager
def geth_with_market(folder: Path) -> Iterator[Addresses]:
    """Run a geth whose transactions are those of the demo's script; the last ones may not be mined yet."""
    genesis = folder / "genesis.json"
    addresses = [account.address for account in ACCOUNTS]
    genesis.write_bytes(development_genesis(addresses, 10**24, 1_700_000_000))
    options = ("--http.api", APIS, "--ws.api", APIS, "--gcmode", "archive")
    with started_geth(folder / "geth", genesis, *options) as geth:
        for transactions in blocks():
            for transaction in transactions:
                reply = ask_url(geth.http, "eth_sendRawTransaction", f"0x{transaction.hex()}")
                assert "result" in reply, reply
        yield geth
