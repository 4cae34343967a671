"""Chains of a network's folder: their genesis, the command that makes them, and their opening."""

import logging
import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wsnode.ethereum.chain import Chain as EthereumChain
from wsnode.ethereum.storage.folder import FOLDER, MAX_GENESIS_BYTES
from wsnode.ethereum.storage.folder_kind import FULL
from wsnode.node.config import ConfigurationError, NetworkConfig
from wsnode.release import release
from wsnode.untrusted.files import read_file

if TYPE_CHECKING:
    # Few networks use this module, so it is imported when a network needs it: a node starts much sooner
    # without it.
    from wsnode.starknet.chain import StarknetChain

logger = logging.getLogger("wsnode.node")

ETHEREUM_FOLDER: Final = FOLDER
STARKNET_FOLDER: Final = "alt"


def open_chains(
    network: NetworkConfig, stack: ExitStack, *, writer: bool, durable: bool
) -> tuple[EthereumChain | None, "StarknetChain | None"]:
    """Return the Ethereum and the Starknet chain of a network's folder, None for one that is missing.

    A chain begins here if the configuration names its genesis or upstreams. `stack` closes both.

    Raises:
        ConfigurationError: A genesis cannot be read, or the network needs a chain that is missing.
        ChainError, StarknetError, StoreError, StateError: A chain cannot be opened.
    """
    ethereum = _open_ethereum(network, stack, writer=writer, durable=durable)
    # A network that follows other nodes, or is driven, leaves writing the Starknet chain to imports by other
    # processes.
    writes_starknet = writer and not network.is_live
    follows_starknet = network.follow_starknet is not None
    starknet = _open_starknet(network, stack, writer=writes_starknet or follows_starknet)
    needs_ethereum = network.follow is not None or network.replica is not None
    if ethereum is None and (starknet is None or needs_ethereum):
        raise ConfigurationError(f"{Path(network.data)} holds no chain: {makers(network)} makes one")
    return ethereum, starknet


def _open_ethereum(
    network: NetworkConfig, stack: ExitStack, *, writer: bool, durable: bool
) -> EthereumChain | None:
    folder, genesis = Path(network.data) / ETHEREUM_FOLDER, genesis_of(network)
    if genesis is None and not folder.is_dir():
        return None
    kind = FULL if network.follow is None else network.follow.kind
    chain = EthereumChain.open(folder, genesis, writer=writer, durable=durable, kind=kind)
    return stack.enter_context(chain)


def _open_starknet(network: NetworkConfig, stack: ExitStack, *, writer: bool) -> "StarknetChain | None":
    folder = Path(network.data)
    if network.follow_starknet is None and not (folder / STARKNET_FOLDER).is_dir():
        return None
    from wsnode.starknet.chain import StarknetChain

    chain = StarknetChain.open(folder, writer=writer)
    stack.callback(chain.close)
    return chain


def genesis_of(network: NetworkConfig) -> bytes | None:
    """Return the genesis file's bytes for a chain that may have to begin, None if none is named.

    Raises:
        ConfigurationError: Its file cannot be read.
    """
    genesis = None if network.engine is None else read_genesis(network.engine.genesis)
    if network.replica is not None and network.replica.genesis is not None:
        genesis = read_genesis(network.replica.genesis)
    if genesis is None and network.follow is not None and network.follow.chain is not None:
        from wsnode.ethereum.networks.table import find_network

        genesis = find_network(network.follow.chain).genesis
    return genesis


def log_opened(
    name: str,
    network: NetworkConfig,
    chains: tuple[EthereumChain | None, "StarknetChain | None"],
    *,
    has_keys: bool,
) -> None:
    """Log version, folder and heads of a network that is served; warn if no API key gives access to it."""
    details = {
        "version": release(),
        "network": name,
        "folder": Path(network.data).absolute(),
        "eth_head": None if chains[0] is None else str(chains[0].head),
        "alt_head": None if chains[1] is None else _starknet_head(chains[1]),
    }
    details = {field: value for field, value in details.items() if value is not None}
    logger.info("serves a network", extra={"details": details})
    if not has_keys:
        logger.warning(
            "%s has no API key, so every request is refused: add a key (wsnode keys add NAME --data %s), "
            "or accept any (--open, or `open = true` in a file)",
            name,
            shlex.quote(network.data),
        )


def _starknet_head(chain: "StarknetChain") -> str | None:
    from wsnode.starknet.felt import felt_text

    with chain.snapshot() as view:
        row = None if view.head is None else view.block(view.head)
        return None if row is None else f"{view.head} {felt_text(row.hash)}"


def read_genesis(file: Path | str | None) -> bytes | None:
    """Return the bytes of a genesis file, None if none is named.

    Raises:
        ConfigurationError: The file cannot be read.
    """
    try:
        return None if file is None else read_file(Path(file), MAX_GENESIS_BYTES)
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror}") from error


def makers(network: NetworkConfig) -> str:
    """Return the command that makes a network's chain, for an error message."""
    if network.replica is not None:
        return "`wsnode replica` with a --genesis, or `wsnode restore`,"
    return "`wsnode import`" if network.follow is None else "`wsnode follow` with a --genesis"
