"""The nodes that web3.py's tests are run against: one chain id, one account, a block every three seconds."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Final

from eth_account import Account

from tests.clients.web3_modules.furniture import KEY
from tests.geth_process import Addresses, started_geth
from tests.node_process import started

CHAIN_ID: Final = 131277322940537
"""The one that some of the tests expect."""
BLOCK_SECONDS: Final = 3
"""Some tests must be done before the next block: they begin right after one (`BETWEEN_BLOCKS`)."""
APIS: Final = "eth,net,web3,debug,txpool"


@contextmanager
def geth(folder: Path) -> Iterator[Addresses]:
    """Run geth, which signs for its developer's account, until the end."""
    genesis = json.loads((files("wsnode.demo") / "genesis.json").read_text())
    genesis["config"]["chainId"] = CHAIN_ID
    described = folder / "genesis.json"
    described.write_text(json.dumps(genesis))
    (folder / "keystore").mkdir()
    # The weakest encryption there is: each signature would cost seconds otherwise.
    keyfile = Account.encrypt(bytes.fromhex(KEY[2:]), "", kdf="pbkdf2", iterations=1)
    (folder / "keystore" / keyfile["address"]).write_text(json.dumps(keyfile))
    (folder / "password").write_text("")
    options = (
        *("--dev.period", str(BLOCK_SECONDS), "--password", str(folder / "password")),
        *("--http.api", APIS, "--ws.api", APIS),
    )
    with started_geth(folder, described, *options) as addresses:
        yield addresses


@contextmanager
def wsnode() -> Iterator[Addresses]:
    """Run `wsnode dev` until the end."""
    options = ("--chain-id", str(CHAIN_ID), "--block-time", str(BLOCK_SECONDS))
    with started("dev", "--listen", "127.0.0.1:0", *options) as node:
        yield Addresses(node.bare(node.http_url), node.bare(node.socket_url))
