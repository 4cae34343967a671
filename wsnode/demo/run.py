"""`wsnode demo` and `wsnode dev`: a chain made where there is none, served to everybody, and growing."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import trio

from wsnode.addresses import Address
from wsnode.config import Config, ConfigurationError, Guests, NetworkConfig
from wsnode.demo import script
from wsnode.demo.accounts import ACCOUNTS, Account
from wsnode.demo.genesis import demo_genesis, development_genesis
from wsnode.demo.introduction import introduce_demo, introduce_development
from wsnode.demo.live import DevelopmentSettings, Live
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.primitives.values import Address as EthereumAddress
from wsnode.ethereum.state import ChainSpec
from wsnode.ethereum.storage.folder import ChainFolder
from wsnode.networks import ETHEREUM_FOLDER
from wsnode.node import run
from wsnode.sync.development.builder import BlockBuilder

FEE_RECIPIENT = EthereumAddress(bytes.fromhex("00000000000000000000000000000000000077ff"))


def serve_demo(address: Address, data: Path | None, block_time: float, guests: Guests) -> None:
    """Serve the demo chain until a signal; without `data` it is gone afterwards.

    Raises:
        ConfigurationError, OSError, ChainError: It cannot be built or served.
    """
    from wsnode.demo.starknet_chain import build_starknet

    with _folder(data) as folder:
        build_ethereum(folder, durable=data is not None)
        build_starknet(folder)
        live = Live(DevelopmentSettings(block_time, ACCOUNTS, FEE_RECIPIENT), with_traffic=True)
        introduce = partial(introduce_demo, accounts=ACCOUNTS, block_time=block_time)
        _serve("demo", address, folder, live, introduce, guests, durable=data is not None)


def serve_development(
    address: Address,
    data: Path | None,
    block_time: float,
    accounts: Sequence[Account],
    *,
    balance: int,
    mnemonic: str,
    guests: Guests,
) -> None:
    """Serve a development chain until a signal, its accounts with `balance` wei each if it is a new one.

    Raises:
        ConfigurationError, OSError, ChainError: It cannot be begun or served, or is no development chain.
    """
    with _folder(data) as folder:
        place = ChainFolder(folder / ETHEREUM_FOLDER)
        if not place.genesis.exists():
            addresses = [account.address for account in accounts]
            genesis = development_genesis(addresses, balance, int(time.time()))
            begin(folder, genesis, durable=data is not None)
        require_development(place)
        live = Live(DevelopmentSettings(block_time, accounts), with_traffic=False)
        introduce = partial(
            introduce_development, accounts=accounts, block_time=block_time, mnemonic=mnemonic
        )
        _serve("dev", address, folder, live, introduce, guests, durable=data is not None)


def require_development(place: ChainFolder) -> None:
    """Return if the chain in a folder is one to build blocks on.

    Raises:
        ConfigurationError: It is somebody's real one.
    """
    chain_id = ChainSpec(place.read_genesis()).chain_id
    if chain_id != script.CHAIN_ID:
        raise ConfigurationError(
            f"{place.path} holds the chain {chain_id}: blocks are only made on a development chain, "
            f"{script.CHAIN_ID}"
        )


def begin(folder: Path, genesis: bytes, *, durable: bool = True) -> None:
    """Make the chain of a genesis in `folder`; a `durable` one is on the disk then."""
    with Chain.open(folder / ETHEREUM_FOLDER, genesis, writer=True, durable=durable) as chain:
        chain.mark_final(chain.head)


def build_ethereum(folder: Path, *, durable: bool = True) -> None:
    """Bring the demo chain in `folder` to its last scripted block, if it has not gone further."""
    if durable and not ChainFolder(folder / ETHEREUM_FOLDER).genesis.exists():
        begin(folder, demo_genesis())
    with Chain.open(folder / ETHEREUM_FOLDER, demo_genesis(), writer=True, durable=False) as chain:
        builder = BlockBuilder(chain)
        start = header_fields(chain.spec.genesis_block().header).timestamp
        done = chain.head.number
        for number, transactions in enumerate(script.blocks(), start=1):
            if number > done:
                timestamp = start + number * script.BLOCK_SECONDS
                built = builder.append(transactions, timestamp=timestamp, fee_recipient=FEE_RECIPIENT)
                assert not built.refused, built.refused
        if durable:
            chain.sync()


def _serve(
    name: str,
    address: Address,
    folder: Path,
    live: Live,
    introduce: Callable[[Address], None],
    guests: Guests,
    *,
    durable: bool,
) -> None:
    network, origins = NetworkConfig(str(folder), guests.hosts), guests.origins or None
    config = Config(networks={name: network}, listen=str(address), open=True, origins=origins)
    trio.run(partial(run, grow=live, durable=durable), config, introduce)


@contextmanager
def _folder(data: Path | None) -> Iterator[Path]:
    if data is not None:
        yield data
        return
    with TemporaryDirectory(prefix="wsnode-") as folder:
        yield Path(folder)
