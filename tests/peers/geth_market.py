"""geth with the demo's token and exchange, which the demo's script makes there."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from tests.geth_process import Addresses, started_geth
from tests.node_process import PATIENCE
from tests.peers.anvil import ask_url
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import development_genesis
from wsnode.demo.traffic import scripted_blocks

APIS = "eth,net,debug,web3"


@contextmanager
def geth_with_market(folder: Path) -> Iterator[Addresses]:
    """Run a geth whose transactions are those of the demo's script."""
    genesis = folder / "genesis.json"
    addresses = [account.address for account in ACCOUNTS]
    genesis.write_bytes(development_genesis(addresses, 10**24, 1_700_000_000))
    options = ("--http.api", APIS, "--ws.api", APIS, "--gcmode", "archive")
    with started_geth(folder / "geth", genesis, *options) as geth:
        for transactions in scripted_blocks():
            sent = [ask_url(geth.http, "eth_sendRawTransaction", f"0x{each.hex()}") for each in transactions]
            wait_for_receipts(geth.http, [reply["result"] for reply in sent])
        yield geth


def wait_for_receipts(url: str, transactions: Sequence[str]) -> None:
    """Return once transactions are in blocks."""
    end = monotonic() + PATIENCE
    for transaction in transactions:
        # An error as long as geth indexes.
        while ask_url(url, "eth_getTransactionReceipt", transaction).get("result") is None:
            assert monotonic() < end, f"no block has {transaction}"
            sleep(0.02)
