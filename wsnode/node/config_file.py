"""The configuration in a TOML file: read, with unknown names, impossible values and their lines named."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from wsnode.ethereum.pool.limits import PoolLimits
from wsnode.ethereum.rpc.form.limits import CallLimits
from wsnode.node.addresses import ListenError
from wsnode.node.config import (
    Config,
    ConfigurationError,
    EngineConfig,
    FollowConfig,
    ForkConfig,
    JournalConfig,
    MetricsConfig,
    NetworkConfig,
    PartnerConfig,
    ReplicaConfig,
    place_of,
    require_one_writer,
)
from wsnode.node.settings import Known, line_of, unknown_names
from wsnode.server.limits import Limits


class AllLimits(msgspec.Struct, frozen=True):
    """The limits of one table: the server's, the methods' and the pools'."""

    server: Limits = Limits()
    calls: CallLimits = CallLimits()
    pool: PoolLimits = PoolLimits()

    @classmethod
    def of_table(cls, table: Mapping[str, Any]) -> "AllLimits":
        """Return the limits of these names and values, and the defaults of all others.

        Raises:
            ConfigurationError: A name is none, or a value impossible.
        """
        for unknown in unknown_names(table, KNOWN.tables["limits"]):
            raise ConfigurationError(str(unknown))
        try:
            config = msgspec.convert(_with_limits_apart({"networks": {}, "limits": {**table}}), Config)
        except msgspec.ValidationError as error:
            raise ConfigurationError(place_of(error).removeprefix("limits.")) from error
        return cls(config.limits, config.call_limits, config.pool_limits)


_LIMITS = (Limits, CallLimits, PoolLimits)
_NETWORK = Known(
    NetworkConfig.__struct_fields__,
    {
        "partner": Known(PartnerConfig.__struct_fields__),
        "follow": Known(FollowConfig.__struct_fields__),
        "fork": Known(ForkConfig.__struct_fields__),
        "engine": Known(EngineConfig.__struct_fields__),
        "journal": Known(JournalConfig.__struct_fields__),
        "replica": Known(ReplicaConfig.__struct_fields__),
    },
)
KNOWN = Known(
    [name for name in Config.__struct_fields__ if name not in ("call_limits", "pool_limits")],
    {
        "limits": Known([name for limits in _LIMITS for name in limits.__struct_encode_fields__]),
        "metrics": Known(MetricsConfig.__struct_fields__),
        "networks": Known((), {"*": _NETWORK}),
    },
)


def read(path: Path) -> Config:
    """Return the configuration in a TOML file; relative folders are relative to the file.

    Raises:
        ConfigurationError: The file cannot be read or says something unknown or impossible.
    """
    try:
        text = path.read_text()
        return checked(msgspec.toml.decode(text), path.parent, str(path), text)
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: {error}") from error


def checked(content: dict[str, Any], folder: Path, source: str, text: str = "") -> Config:
    """Return the configuration in `content`; `text` is its source, to name lines.

    Raises:
        ConfigurationError: A setting is unknown or invalid.
    """
    _require_known_names(content, source, text)
    try:
        config = msgspec.convert(_with_limits_apart(content), Config)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"{source}: {place_of(error)}") from error
    _require_hosts(config, source)
    try:
        _ = config.address
    except ListenError as error:
        raise ConfigurationError(f"{source}: listen: {error}") from None
    try:
        _ = config.metrics.address
    except ListenError as error:
        raise ConfigurationError(f"{source}: metrics.listen: {error}") from None
    _require_engines(config, source)
    _require_journals(config, source)
    _require_replicas(config, source)
    try:
        require_one_writer(config)
    except ConfigurationError as error:
        raise ConfigurationError(f"{source}: {error}") from None
    return _relative_to(folder, config)


def _require_engines(config: Config, source: str) -> None:
    for name, network in config.networks.items():
        place = f"{source}: networks.{name}.engine"
        if network.engine is None:
            continue
        if not network.pool:
            raise ConfigurationError(
                f"{place}: payloads are built of the pool, which `pool = false` leaves out"
            )
        try:
            _ = network.engine.address
        except ListenError as error:
            raise ConfigurationError(f"{place}.listen: {error}") from None


def _require_journals(config: Config, source: str) -> None:
    for name, network in config.networks.items():
        if network.journal is not None and not network.is_live:
            raise ConfigurationError(
                f"{source}: networks.{name}.journal: the process that writes a chain publishes it; "
                "this one would need `follow` or `engine`"
            )


def _require_replicas(config: Config, source: str) -> None:
    for name, network in config.networks.items():
        others = (network.follow, network.engine, network.journal)
        if network.replica is not None and others != (None, None, None):
            raise ConfigurationError(
                f"{source}: networks.{name}.replica: a journal alone tells what a replica's chain is; "
                "`follow`, `engine` and `journal` are of the node that writes it"
            )


def _require_known_names(content: dict[str, Any], source: str, text: str) -> None:
    for unknown in unknown_names(content, KNOWN):
        line = line_of(text, unknown.path)
        raise ConfigurationError(f"{source}:{'' if line is None else f' line {line}:'} {unknown}")


def _relative_to(folder: Path, config: Config) -> Config:
    def resolved(path: str | None) -> str | None:
        return None if path is None else str(folder / path)

    def engine(told: EngineConfig | None) -> EngineConfig | None:
        if told is None:
            return None
        secret, genesis = resolved(told.jwt_secret), resolved(told.genesis)
        return msgspec.structs.replace(told, jwt_secret=secret, genesis=genesis)

    def replica(told: ReplicaConfig | None) -> ReplicaConfig | None:
        return told and msgspec.structs.replace(told, genesis=resolved(told.genesis))

    networks = {
        name: msgspec.structs.replace(
            network,
            data=str(folder / network.data),
            engine=engine(network.engine),
            replica=replica(network.replica),
        )
        for name, network in config.networks.items()
    }
    return msgspec.structs.replace(
        config,
        networks=networks,
        unix_socket=resolved(config.unix_socket),
        tls_cert=resolved(config.tls_cert),
        tls_key=resolved(config.tls_key),
    )


def _with_limits_apart(content: dict[str, Any]) -> dict[str, Any]:
    """Return `content` with its one table of limits as those that server, methods and pools take."""
    table = content.get("limits", {})
    if not isinstance(table, dict):
        raise msgspec.ValidationError("Expected `object` - at `$.limits`")
    of_calls = {name: value for name, value in table.items() if name in CallLimits.__struct_fields__}
    of_pool = {name: value for name, value in table.items() if name in PoolLimits.__struct_encode_fields__}
    of_server = {name: value for name, value in table.items() if name not in {**of_calls, **of_pool}}
    return content | {"limits": of_server, "call_limits": of_calls, "pool_limits": of_pool}


def _require_hosts(config: Config, source: str) -> None:
    if not config.networks:
        raise ConfigurationError(f"{source}: networks: at least one is needed")
    seen: dict[str, str] = {}
    for name, network in config.networks.items():
        if not network.hosts and len(config.networks) > 1:
            raise ConfigurationError(
                f"{source}: networks.{name}.hosts: needed where there are several networks"
            )
        for host in network.hosts:
            other = seen.setdefault(host.lower(), name)
            if other != name:
                raise ConfigurationError(
                    f"{source}: networks.{name}.hosts: {host} belongs to {other} already"
                )
