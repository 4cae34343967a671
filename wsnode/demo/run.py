"""`wsnode demo` and `wsnode dev`: a chain that is created if missing, served without keys, and grows."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import trio

from wsnode.demo import script
from wsnode.demo.accounts import ACCOUNTS, Account
from wsnode.demo.genesis import CHAIN_ID, FORKS, ForkSource, demo_genesis, development_genesis
from wsnode.demo.introduction import introduce_demo, introduce_development
from wsnode.demo.live import DevelopmentSettings, Live
from wsnode.demo.state_file import StateFiles, read_accounts, write_accounts
from wsnode.ethereum.building.gas_limit import GAS_LIMIT_TARGET
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.pool.order import Order
from wsnode.ethereum.primitives.values import Address as EthereumAddress
from wsnode.ethereum.state import ChainSpec
from wsnode.ethereum.storage.folder import IMPORT, ChainFolder
from wsnode.node.addresses import Address, announce_ready
from wsnode.node.chains import ETHEREUM_FOLDER
from wsnode.node.config import (
    Config,
    ConfigurationError,
    ForkConfig,
    Guests,
    JournalConfig,
    NetworkConfig,
)
from wsnode.node.config_file import AllLimits
from wsnode.node.config_line import overridden
from wsnode.node.run import run
from wsnode.server.upkeep.printing import Printer

FEE_RECIPIENT = EthereumAddress(bytes.fromhex("00000000000000000000000000000000000077ff"))


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a chain, its block time, and the amount of output."""

    address: Address
    block_time: float
    data: Path | None = None
    """The folder of the chain; without one it is deleted at the end."""
    log_level: str = "info"
    is_quiet: bool = False
    """Whether nothing is printed but the first line and errors."""
    gas_limit: int = GAS_LIMIT_TARGET
    guests: Guests = Guests()
    limits: AllLimits = AllLimits()
    journal: JournalConfig | None = None

    @property
    def tells(self) -> bool:
        """Return whether blocks, transactions, failed calls and controls are printed."""
        return not self.is_quiet and self.log_level in ("debug", "info")


class Beginning(msgspec.Struct, frozen=True, kw_only=True):
    """The genesis settings of a new development chain; an old one has its own."""

    accounts: Sequence[Account]
    balance: int
    """The balance of each account in wei."""
    mnemonic: str
    chain_id: int | None = None
    fork: str | None = None
    source: ForkSource | None = None
    """The chain to begin on, in place of a genesis of its own."""
    base_fee: int | None = None
    """The base fee of the genesis and of the first block, in wei."""
    order: Order = Order.FEES
    state: StateFiles = StateFiles()


def serve_demo(served: Served) -> None:
    """Serve the demo chain until a signal.

    Raises:
        ConfigurationError, OSError, ChainError: It cannot be built or served.
    """
    from wsnode.demo.starknet_chain import build_starknet

    with _folder(served.data) as folder:
        build_ethereum(folder, durable=served.data is not None)
        build_starknet(folder)
        settings = DevelopmentSettings(
            served.block_time,
            ACCOUNTS,
            FEE_RECIPIENT,
            tells_every_failure=served.log_level == "debug",
        )
        introduce = partial(introduce_demo, accounts=ACCOUNTS, block_time=served.block_time)
        _serve("demo", served, folder, settings, introduce)


def serve_development(served: Served, beginning: Beginning) -> None:
    """Serve a development chain until a signal.

    Raises:
        ConfigurationError, OSError, ChainError: It cannot be begun or served, or is no development chain.
    """
    with _folder(served.data) as folder:
        place = ChainFolder(folder / ETHEREUM_FOLDER)
        is_new = not place.genesis.exists()
        if is_new and beginning.source is not None:
            _begin_fork(place, beginning.source, beginning, is_kept=served.data is not None)
        elif is_new:
            begin(folder, _genesis(served, beginning), durable=served.data is not None)
        elif beginning.state.source is not None:
            raise ConfigurationError(f"{place.path} holds a chain already: a state is for a new one")
        spec = require_development(place)
        _require_chosen(place, spec, beginning)
        source = _source(place, spec, beginning)
        settings = DevelopmentSettings(
            served.block_time,
            beginning.accounts,
            order=beginning.order,
            base_fee=beginning.base_fee if is_new else None,
            tells_every_failure=served.log_level == "debug",
        )
        if source is not None:
            settings = _forked(settings, place, source, beginning, is_kept=served.data is not None)
        introduce = partial(
            introduce_development,
            accounts=beginning.accounts,
            block_time=served.block_time,
            mnemonic=beginning.mnemonic,
            chain_id=spec.chain_id if is_new else _present_id(place),
        )
        last = _serve("dev", served, folder, settings, introduce, source)
        if beginning.state.target is not None:
            with Chain.open(last.path, writer=False) as chain:
                write_accounts(chain, beginning.state.target)


def _begin_fork(place: ChainFolder, source: ForkSource, beginning: Beginning, *, is_kept: bool) -> None:
    # Only a fork asks other nodes.
    from wsnode.demo.forking import begin_fork

    begin_fork(
        place,
        source,
        _funds(beginning),
        chain_id=beginning.chain_id,
        fork=beginning.fork,
        is_kept=is_kept,
    )


def _forked(
    settings: DevelopmentSettings,
    place: ChainFolder,
    source: ForkSource,
    beginning: Beginning,
    *,
    is_kept: bool,
) -> DevelopmentSettings:
    from wsnode.demo.forking import forked_settings, reforking

    refork = reforking(source, _funds(beginning), chain_id=beginning.chain_id, fork=beginning.fork)
    settings = forked_settings(settings, place, source, _funds(beginning))
    return settings if is_kept else msgspec.structs.replace(settings, refork=refork)


def _funds(beginning: Beginning) -> tuple[list[bytes], int]:
    return [account.address for account in beginning.accounts], beginning.balance


def _source(place: ChainFolder, spec: ChainSpec, beginning: Beginning) -> ForkSource | None:
    """Return the chain on which the one in a folder began.

    Raises:
        ConfigurationError: The command line names another block, or none where there is one.
    """
    source = beginning.source
    if not spec.begins_elsewhere:
        if source is not None:
            raise ConfigurationError(
                f"{place.path} holds a chain that was not forked: --fork is for a new one"
            )
        return None
    if source is None:
        raise ConfigurationError(
            f"{place.path} holds a chain forked at block {spec.first_number}: --fork names that chain's node"
        )
    if source.block not in (None, spec.first_number):
        raise ConfigurationError(f"{place.path} holds a chain forked at block {spec.first_number}")
    return source


def _genesis(served: Served, beginning: Beginning) -> bytes:
    source = beginning.state.source
    return development_genesis(
        [account.address for account in beginning.accounts],
        beginning.balance,
        int(time.time()),
        chain_id=CHAIN_ID if beginning.chain_id is None else beginning.chain_id,
        fork=beginning.fork or FORKS[-1],
        gas_limit=served.gas_limit,
        base_fee=beginning.base_fee,
        accounts=None if source is None else read_accounts(source),
    )


def require_development(place: ChainFolder) -> ChainSpec:
    """Return the rules of the development chain in a folder.

    Raises:
        ConfigurationError: It is an imported chain.
    """
    spec = ChainSpec(place.read_genesis())
    if spec.chain_id != CHAIN_ID and place.maker() == IMPORT:
        raise ConfigurationError(
            f"{place.path} holds the chain {spec.chain_id}, which `{IMPORT}` made: "
            f"blocks are only made on a development chain"
        )
    return spec


def _present_id(place: ChainFolder) -> int:
    """Return the id of a kept chain, which may have been given another one than it began with."""
    with Chain.open(place.path, writer=False) as chain:
        return chain.spec.chain_id


def _require_chosen(place: ChainFolder, spec: ChainSpec, beginning: Beginning) -> None:
    """Refuse an old chain that contradicts the command line."""
    if beginning.chain_id not in (None, spec.chain_id):
        raise ConfigurationError(
            f"{place.path} holds the chain {spec.chain_id}, not {beginning.chain_id}: "
            "--chain-id is for a new one"
        )
    genesis = header_fields(spec.genesis_block().header)
    stored = spec.fork_name(0, genesis.timestamp).replace(" ", "").lower()
    if beginning.fork is not None and not stored.startswith(beginning.fork):
        raise ConfigurationError(
            f"{place.path} holds a chain of {stored}, not of {beginning.fork}: --hardfork is for a new one"
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
    served: Served,
    folder: Path,
    settings: DevelopmentSettings,
    introduce: Callable[[Address], None],
    source: ForkSource | None = None,
) -> ChainFolder:
    """Serve until a signal, and return where the chain lies in the end."""
    fork = None if source is None else ForkConfig(tuple(source.urls))
    network = NetworkConfig(
        str(folder), served.guests.hosts, gas_limit=served.gas_limit, fork=fork, journal=served.journal
    )
    level = "error" if served.is_quiet else served.log_level
    config = overridden(
        Config(
            networks={name: network},
            listen=str(served.address),
            open=True,
            console=True,
            limits=served.limits.server,
            call_limits=served.limits.calls,
            pool_limits=served.limits.pool,
        ),
        log_level=level,
        origins=served.guests.origins,
    )
    # Log lines too: tests often start a node with a pipe and read it late.
    printer = Printer(_standard_error())
    live = Live(settings, printer if served.tells else None, with_traffic=name == "demo")
    announce = announce_ready if served.is_quiet else introduce
    work = partial(run, grow=live, durable=served.data is not None, log_to=printer)
    try:
        trio.run(work, config, announce)
    finally:
        printer.stop()
    return live.folder or ChainFolder(folder / ETHEREUM_FOLDER)


def _standard_error() -> int:
    # Its number may be another file's if it was closed when the process began, the chain's for one.
    return os.open(os.devnull, os.O_WRONLY) if sys.stderr is None else sys.stderr.fileno()


@contextmanager
def _folder(data: Path | None) -> Iterator[Path]:
    if data is not None:
        yield data
        return
    with TemporaryDirectory(prefix="wsnode-") as folder:
        yield Path(folder)
