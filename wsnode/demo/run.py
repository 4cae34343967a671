"""Run of `wsnode demo`, `dev` and `anvil`: a chain is created if missing, served without keys, and grows."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, TextIO

import msgspec
import trio

from wsnode.demo.accounts import ACCOUNTS, FundedAccount
from wsnode.demo.banner import BannerContent, introduce_demo, introduce_development, page_of
from wsnode.demo.development_service import DevelopmentService, DevelopmentSettings
from wsnode.demo.genesis import (
    CHAIN_ID,
    DEFAULT_FORK,
    ForkSource,
    demo_genesis,
    development_genesis,
    with_block,
)
from wsnode.demo.state_dump_file import StateFiles, read_accounts, write_accounts
from wsnode.demo.terminal.event_printer import EventPrinterSettings
from wsnode.ethereum.building.gas_limit import GAS_LIMIT_TARGET
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.development.builder import EPOCH, BlockBuilder
from wsnode.ethereum.pool.order import TransactionOrder
from wsnode.ethereum.primitives.values import Address as EthereumAddress
from wsnode.ethereum.state import ChainSpec
from wsnode.ethereum.storage.folder import DEMO, IMPORT, ChainFolder
from wsnode.node.chains import ETHEREUM_FOLDER
from wsnode.node.config import (
    AllowedHosts,
    Config,
    ConfigurationError,
    ForkConfig,
    JournalConfig,
    NetworkConfig,
)
from wsnode.node.config_file import AllLimits
from wsnode.node.config_line import overridden
from wsnode.node.listen_address import ListenAddress, announce_ready
from wsnode.node.run import run
from wsnode.server.observability.printing import Printer

if TYPE_CHECKING:
    from wsnode.demo.anvil.init_file import InitFile
    from wsnode.demo.anvil.pipe import Pipe

FEE_RECIPIENT = EthereumAddress(bytes.fromhex("00000000000000000000000000000000000077ff"))


class ServeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a development chain's server and output. `block_time` is in seconds, 0 for a block on each
    transaction.
    """

    address: ListenAddress
    block_time: float
    data: Path | None = None
    """Folder of the chain; None for a chain that is deleted at the end."""
    log_level: str = "info"
    is_quiet: bool = False
    """True to print only the first line and errors."""
    to_stdout: bool = False
    """True to print log and events on standard output, as anvil does."""
    log_format: Literal["human", "json"] = "human"
    telling: EventPrinterSettings = EventPrinterSettings()
    ipc: Path | None = None
    """Path of a Unix socket for JSON-RPC, one JSON value after another."""
    gas_limit: int = GAS_LIMIT_TARGET
    guests: AllowedHosts = AllowedHosts()
    limits: AllLimits = AllLimits()
    journal: JournalConfig | None = None

    @property
    def tells(self) -> bool:
        """Return True if blocks, transactions, failed calls and controls are printed."""
        return not self.is_quiet and self.log_level in ("debug", "info")


class GenesisSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a new development chain's genesis; a stored chain keeps its own."""

    accounts: Sequence[FundedAccount]
    balance: int
    """Balance of each account in wei."""
    mnemonic: str
    chain_id: int | None = None
    fork: str | None = None
    source: ForkSource | None = None
    """Chain to begin on, in place of a genesis of its own."""
    base_fee: int | None = None
    """Base fee of the genesis and of the first block, in wei."""
    gas_price: int | None = None
    """Gas price in wei that is advised before London."""
    has_create2_deployer: bool = True
    """True to have the CREATE2 deployer in the genesis; a forked chain has it from the other chain."""
    timestamp: int | None = None
    """Time of the genesis, from which the clock runs; None for the system clock's."""
    code_size_limit: int | None = None
    """Maximum number of bytes of a contract's code, None for the protocol's limit."""
    on_request: bool = False
    """True to make blocks on request alone."""
    impersonates_all: bool = False
    epoch: int = EPOCH
    order: TransactionOrder = TransactionOrder.FEES
    state: StateFiles = StateFiles()
    init: Path | None = None
    """Genesis file of anvil's `--init`."""


Introduce = Callable[[BannerContent, ListenAddress], None]


def serve_demo(served: ServeSettings) -> None:
    """Serve the demo chain until a signal.

    Raises:
        ConfigurationError, OSError, ChainError: The chain cannot be built or served.
    """
    from wsnode.demo import exchange, token
    from wsnode.demo.starknet_chain import build_starknet

    with _folder(served.data) as folder:
        build_ethereum(folder, durable=served.data is not None)
        build_starknet(folder)
        settings = DevelopmentSettings(
            served.block_time,
            ACCOUNTS,
            FEE_RECIPIENT,
            # The demo's user has not sent its transactions, and printing them would move the keys out of
            # sight.
            telling=msgspec.structs.replace(served.telling, transactions=served.log_level == "debug"),
            page=page_of(ACCOUNTS, contracts={"token": token.ADDRESS, "exchange": exchange.ADDRESS}),
        )
        introduce = partial(introduce_demo, accounts=ACCOUNTS, block_time=served.block_time)
        _serve("demo", served, folder, settings, announce_ready if served.is_quiet else introduce)


def serve_development(
    served: ServeSettings, beginning: GenesisSettings, introduce: Introduce | None = None
) -> None:
    """Serve a development chain until a signal; `introduce` prints accounts and address once it is served.

    Raises:
        ConfigurationError, OSError, ChainError: The chain cannot begin or be served, or was imported.
    """
    if beginning.source is not None:
        beginning = msgspec.structs.replace(beginning, source=with_block(beginning.source))
    with _folder(served.data) as folder:
        place = ChainFolder(folder / ETHEREUM_FOLDER)
        is_new = not place.genesis.exists()
        init = None if beginning.init is None else _read_init_file(beginning.init)
        if init is not None:
            beginning = _initialised(beginning, init)
        if is_new and beginning.source is not None:
            _begin_fork(place, beginning.source, beginning, is_kept=served.data is not None)
        elif is_new:
            genesis = _genesis(served, beginning, None if init is None else init.accounts)
            begin(folder, genesis, durable=served.data is not None)
        elif beginning.state.source is not None:
            raise ConfigurationError(
                f"{place.path} holds a chain already: --state and --load-state need a new folder"
            )
        spec = require_development(place)
        _require_chosen(place, spec, beginning)
        source = _source(place, spec, beginning)
        settings = DevelopmentSettings(
            served.block_time,
            beginning.accounts,
            order=beginning.order,
            gas_price=beginning.gas_price,
            on_request=beginning.on_request,
            epoch=beginning.epoch,
            impersonates_all=beginning.impersonates_all,
            time=beginning.timestamp if is_new else None,
            telling=served.telling,
            page=page_of(beginning.accounts, mnemonic=beginning.mnemonic),
        )
        if init is not None and init.fee_recipient is not None:
            settings = msgspec.structs.replace(settings, fee_recipient=init.fee_recipient)
        if source is not None:
            settings = _forked(settings, place, source, beginning, is_kept=served.data is not None)
        content = BannerContent(
            accounts=beginning.accounts,
            balance=beginning.balance,
            block_time=served.block_time,
            mnemonic=beginning.mnemonic,
            chain_id=spec.chain_id if is_new else _present_id(place),
            first=header_fields(spec.genesis_block().header),
            fork=settings.fork,
        )
        announce: Callable[[ListenAddress], None] = partial(introduce or introduce_development, content)
        if introduce is None and served.is_quiet:
            announce = announce_ready
        last = _serve("dev", served, folder, settings, announce, source)
        if beginning.state.target is not None:
            with Chain.open(last.path, writer=False) as chain:
                write_accounts(chain, beginning.state.target)


def _begin_fork(place: ChainFolder, source: ForkSource, beginning: GenesisSettings, *, is_kept: bool) -> None:
    # The import is local because only a fork asks other nodes.
    from wsnode.demo.fork_factory import begin_fork

    begin_fork(
        place,
        source,
        _funds(beginning),
        chain_id=beginning.chain_id,
        fork=beginning.fork,
        code_size_limit=beginning.code_size_limit,
        is_kept=is_kept,
    )


def _read_init_file(path: Path) -> "InitFile":
    from wsnode.demo.anvil.init_file import read_init_file

    return read_init_file(path)


def _initialised(beginning: GenesisSettings, init: "InitFile") -> GenesisSettings:
    """Return the settings of a new chain, completed by a genesis file."""
    return msgspec.structs.replace(
        beginning,
        chain_id=beginning.chain_id or init.chain_id,
        timestamp=init.timestamp if beginning.timestamp is None else beginning.timestamp,
        base_fee=init.base_fee if beginning.base_fee is None else beginning.base_fee,
    )


def _forked(
    settings: DevelopmentSettings,
    place: ChainFolder,
    source: ForkSource,
    beginning: GenesisSettings,
    *,
    is_kept: bool,
) -> DevelopmentSettings:
    from wsnode.demo.fork_factory import forked_settings, reforking

    refork = reforking(
        source,
        _funds(beginning),
        chain_id=beginning.chain_id,
        fork=beginning.fork,
        code_size_limit=beginning.code_size_limit,
    )
    settings = forked_settings(settings, place, source)
    return settings if is_kept else msgspec.structs.replace(settings, refork=refork)


def _funds(beginning: GenesisSettings) -> tuple[list[bytes], int]:
    return [account.address for account in beginning.accounts], beginning.balance


def _source(place: ChainFolder, spec: ChainSpec, beginning: GenesisSettings) -> ForkSource | None:
    """Return the source of the chain in a folder, None if it was not forked.

    Raises:
        ConfigurationError: The command line names another block, or no node for a forked chain.
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
        raise ConfigurationError(
            f"{place.path} holds a chain forked at block {spec.first_number}, and --fork names {source.block}"
        )
    return source


def _genesis(served: ServeSettings, beginning: GenesisSettings, accounts: Mapping[str, Any] | None) -> bytes:
    source, timestamp = beginning.state.source, beginning.timestamp
    if source is not None:
        accounts = {**(accounts or {}), **read_accounts(source)}
    return development_genesis(
        [account.address for account in beginning.accounts],
        beginning.balance,
        int(time.time()) if timestamp is None else timestamp,
        chain_id=CHAIN_ID if beginning.chain_id is None else beginning.chain_id,
        fork=beginning.fork or DEFAULT_FORK,
        gas_limit=served.gas_limit,
        base_fee=beginning.base_fee,
        has_create2_deployer=beginning.has_create2_deployer,
        accounts=accounts,
        code_size_limit=beginning.code_size_limit,
    )


def require_development(place: ChainFolder) -> ChainSpec:
    """Return the rules of the development chain in a folder.

    Raises:
        ConfigurationError: The chain was imported.
    """
    spec = ChainSpec(place.read_genesis())
    if spec.chain_id != CHAIN_ID and place.maker() == IMPORT:
        raise ConfigurationError(
            f"{place.path} holds the chain {spec.chain_id}, which `{IMPORT}` made: "
            f"blocks are only made on a development chain"
        )
    return spec


def _present_id(place: ChainFolder) -> int:
    """Return the present id of a stored chain, which a control may have changed."""
    with Chain.open(place.path, writer=False) as chain:
        return chain.spec.chain_id


def _require_chosen(place: ChainFolder, spec: ChainSpec, beginning: GenesisSettings) -> None:
    """Refuse a stored chain that contradicts the command line."""
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
    """Make the chain of a genesis in `folder`; return once a `durable` one is on the disk."""
    with Chain.open(folder / ETHEREUM_FOLDER, genesis, writer=True, durable=durable) as chain:
        chain.mark_final(chain.head)


def build_ethereum(folder: Path, *, durable: bool = True) -> None:
    """Extend the demo chain in `folder` to its last scripted block, unless it has that block."""
    from wsnode.demo.traffic import BLOCK_SECONDS, scripted_blocks

    place = ChainFolder(folder / ETHEREUM_FOLDER)
    genesis = demo_genesis()
    if place.genesis.exists() and place.maker() == DEMO:
        # An earlier version of the demo may have begun the chain, with other contracts in the genesis.
        genesis = place.read_genesis()
    elif durable and not place.genesis.exists():
        begin(folder, genesis)
    with Chain.open(place.path, genesis, writer=True, durable=False) as chain:
        builder = BlockBuilder(chain)
        start = header_fields(chain.spec.genesis_block().header).timestamp
        done = chain.head.number
        for number, transactions in enumerate(scripted_blocks(), start=1):
            if number > done:
                timestamp = start + number * BLOCK_SECONDS
                built = builder.append(transactions, timestamp=timestamp, fee_recipient=FEE_RECIPIENT)
                assert not built.refused, built.refused
        if durable:
            chain.sync()


def _serve(
    name: str,
    served: ServeSettings,
    folder: Path,
    settings: DevelopmentSettings,
    announce: Callable[[ListenAddress], None],
    source: ForkSource | None = None,
) -> ChainFolder:
    """Serve until a signal; return the folder that the chain has at the end."""
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
        log_format=served.log_format,
        origins=served.guests.origins,
    )
    # The printer's thread writes log lines too: tests often start a node with a pipe and read it late.
    printer = Printer(_descriptor(sys.stdout if served.to_stdout else sys.stderr))
    pipe = None if served.ipc is None else _open_pipe(served.ipc, served.limits.server.message_bytes)
    live = DevelopmentService(
        settings,
        printer if served.tells else None,
        with_traffic=name == "demo",
        beside=() if pipe is None else (pipe.run,),
    )
    work = partial(run, grow=live, durable=served.data is not None, log_to=printer)
    try:
        trio.run(work, config, announce if pipe is None else pipe.announcing(announce))
    finally:
        printer.stop()
        if pipe is not None:
            pipe.close()
    return live.folder or ChainFolder(folder / ETHEREUM_FOLDER)


def _open_pipe(path: Path, most_bytes: int) -> "Pipe":
    # The module loads a WebSocket client, which takes 60 ms, so only a chain with a pipe imports it.
    from wsnode.demo.anvil.pipe import Pipe

    return Pipe(path, most_bytes)


def _descriptor(stream: TextIO | None) -> int:
    # Python sets a standard stream to None if it was closed when the process began. Its descriptor number may
    # then belong to another file, such as the chain's.
    return os.open(os.devnull, os.O_WRONLY) if stream is None else stream.fileno()


@contextmanager
def _folder(data: Path | None) -> Iterator[Path]:
    if data is not None:
        yield data
        return
    with TemporaryDirectory(prefix="wsnode-") as folder:
        yield Path(folder)
