"""`wsnode demo`: builds the chain where it is missing, and serves it to everybody."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

import trio

from wsnode.config import Address, Config, NetworkConfig
from wsnode.demo import script, token
from wsnode.demo.accounts import ACCOUNTS, MNEMONIC
from wsnode.demo.starknet_chain import build_starknet
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import header_fields
from wsnode.networks import ETHEREUM_FOLDER
from wsnode.node import run
from wsnode.sync.development.builder import BlockBuilder
from wsnode.terminal import announce_ready

NETWORK = "demo"
FEE_RECIPIENT = bytes.fromhex("00000000000000000000000000000000000077ff")


def serve_demo(listen: str, data: Path | None) -> None:
    """Serve the demo chain until a signal; without `data` it is gone afterwards.

    Raises:
        ConfigurationError, OSError, ChainError: It cannot be built or served.
    """
    address = Address.parse(listen)
    with _folder(data) as folder:
        build_ethereum(folder)
        build_starknet(folder)
        config = Config(networks={NETWORK: NetworkConfig(str(folder))}, listen=str(address), open=True)
        trio.run(run, config, introduce)


def build_ethereum(folder: Path) -> None:
    """Bring the demo chain in `folder` to its last scripted block."""
    genesis = (files("wsnode.demo") / "genesis.json").read_bytes()
    with Chain.open(folder / ETHEREUM_FOLDER, genesis, writer=True, durable=False) as chain:
        builder = BlockBuilder(chain)
        start = header_fields(chain.spec.genesis_block().header).timestamp
        done = chain.head.number
        for number, transactions in enumerate(script.blocks(), start=1):
            if number > done:
                timestamp = start + number * script.BLOCK_SECONDS
                built = builder.append(transactions, timestamp=timestamp, fee_recipient=FEE_RECIPIENT)
                assert not built.refused, built.refused
        chain.sync()


def introduce(address: Address) -> None:
    """Print what a user needs to try the node: addresses to paste, accounts, and a first request."""
    announce_ready(address)
    print(
        INTRODUCTION.format(
            address=address, token=token.ADDRESS.hex(), last=script.BLOCKS, chain=script.CHAIN_ID
        )
    )
    for account in ACCOUNTS:
        print(f"  0x{account.address.hex()}  key 0x{account.secret.hex()}")
    print("\nPublic keys of everybody's tests: never send real funds to them. Ctrl-C stops.", flush=True)


INTRODUCTION = f"""
A development chain (id {{chain}}) with {{last}} blocks; any API key will do, and none at all:

  WebSocket  ws://{{address}}
  HTTP       http://{{address}}
  token      0x{{token}}  (DEMO, 18 decimals)
  alt chain  8 blocks; contracts 0x7a17 (Cairo 0) and 0xc0c0 (Sierra)

Try: curl http://{{address}} -H 'content-type: application/json' \\
       -d '{{{{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["latest",true]}}}}'

Accounts of the mnemonic "{MNEMONIC}":"""


@contextmanager
def _folder(data: Path | None) -> Iterator[Path]:
    if data is not None:
        yield data
        return
    with TemporaryDirectory(prefix="wsnode-demo-") as folder:
        yield Path(folder)
