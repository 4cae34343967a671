"""Faults that would keep a node from starting with a configuration, found without opening a chain."""

from collections.abc import Iterator, Set
from contextlib import suppress
from pathlib import Path

from wsnode.node.chains import ETHEREUM_FOLDER, STARKNET_FOLDER, genesis_of, makers, read_genesis
from wsnode.node.config import Config, ConfigurationError, EngineConfig, MetricsConfig, NetworkConfig
from wsnode.node.listen_address import ListenAddress, ListenError
from wsnode.node.running import tls_of
from wsnode.server.access.jwt import SecretError, read_secret


def hindrances(config: Config, unsound: Set[str] = frozenset()) -> Iterator[str]:
    """Yield a line for each fault: unreadable files, folders without a chain, addresses named twice.

    The networks `unsound` have other mistakes and are left out.
    """
    yield from _of_addresses(config)
    try:
        tls_of(config)
    except ConfigurationError as error:
        yield str(error)
    for name, network in config.networks.items():
        for line in () if name in unsound else _of_network(network):
            yield f"networks.{name}: {line}"


def _of_addresses(config: Config) -> Iterator[str]:
    engines: dict[str, Config | MetricsConfig | EngineConfig] = {
        f"networks.{name}.engine.listen": network.engine
        for name, network in config.networks.items()
        if network.engine is not None
    }
    seen: dict[ListenAddress, str] = {}
    for setting, section in {"listen": config, "metrics.listen": config.metrics, **engines}.items():
        # An invalid address is a mistake that is reported elsewhere.
        with suppress(ListenError):
            if (address := section.address) is not None and address.port != 0:
                other = seen.setdefault(address, setting)
                if other != setting:
                    yield f"{setting}: {address} is the address of {other} already"


def _of_network(network: NetworkConfig) -> Iterator[str]:
    folder = Path(network.data)
    if network.engine is not None:
        yield from _of_engine(network.engine)
    holds_chain = any((folder / each).is_dir() for each in (ETHEREUM_FOLDER, STARKNET_FOLDER))
    begins_one = (network.engine is not None and network.engine.genesis is not None) or (
        network.follow_starknet is not None and network.follow is None and network.replica is None
    )
    if not holds_chain and not begins_one and genesis_of(network) is None:
        yield f"{folder} holds no chain: {makers(network)} makes one"


def _of_engine(engine: EngineConfig) -> Iterator[str]:
    try:
        read_genesis(engine.genesis)
    except ConfigurationError as error:
        yield f"engine.genesis: {error}"
    secret = None if engine.jwt_secret is None else Path(engine.jwt_secret)
    try:
        # A missing secret is made when the node starts.
        if secret is not None and secret.exists():
            read_secret(secret)
    except SecretError as error:
        yield f"engine.jwt_secret: {error}"


def served(config: Config) -> Iterator[str]:
    """Yield a line for each address and network that a node with this configuration would serve."""
    scheme = "" if config.tls_cert is None else " with TLS"
    access = "any key" if config.open else "keys"
    yield f"{config.address}{scheme}: {access}"
    if config.unix_socket is not None:
        yield f"{config.unix_socket}: {access}"
    if (operators := config.metrics.address) is not None:
        yield f"{operators}: metrics"
    for name, network in config.networks.items():
        yield f"{name}: {network.data}, {', '.join(_roles(network))}"


def _roles(network: NetworkConfig) -> Iterator[str]:
    if network.follow is not None:
        yield f"follows {len(network.follow.upstreams)} upstreams"
    if network.follow_starknet is not None:
        yield f"follows {len(network.follow_starknet.upstreams)} upstreams of {network.follow_starknet.chain}"
    if network.replica is not None:
        yield f"repeats the journal at {network.replica.address}"
    if network.engine is not None:
        yield f"driven at {network.engine.address}"
    if network.journal is not None:
        yield f"published to {network.journal.address}"
    if not network.is_live and network.follow_starknet is None:
        yield "served as other processes write it"
    if network.hosts:
        yield f"for {' '.join(network.hosts)}"
