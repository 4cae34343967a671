"""Configuration from the options of a command line, and its reload while a node runs."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from wsnode.node.config import (
    Config,
    ConfigurationError,
    EngineConfig,
    FollowConfig,
    JournalConfig,
    MetricsConfig,
    NetworkConfig,
    ReplicaConfig,
    place_of,
    require_one_writer,
)
from wsnode.server.observability.supervisor import log_failure
from wsnode.sync.starknet.settings import FollowStarknetConfig


def of_folder(
    data: Path,
    hosts: Sequence[str] = (),
    follow: FollowConfig | None = None,
    engine: EngineConfig | None = None,
    journal: JournalConfig | None = None,
    replica: ReplicaConfig | None = None,
    follow_starknet: FollowStarknetConfig | None = None,
) -> Config:
    """Return the configuration of a node that serves one folder.

    The network answers to `hosts` besides local host names.

    Raises:
        ListenError: The engine's address is no address.
    """
    if engine is not None:
        _ = engine.address
    network = NetworkConfig(
        str(data),
        tuple(hosts),
        follow=follow,
        engine=engine,
        journal=journal,
        replica=replica,
        follow_starknet=follow_starknet,
    )
    return Config(networks={data.absolute().name: network})


def journal_config(url: str | None) -> JournalConfig | None:
    """Return the configuration of the journal at `url`, None without one.

    Raises:
        JournalAddressError: `url` is no address of a journal.
    """
    return None if url is None else JournalConfig(url)


def follow_config(
    upstreams: Sequence[str], agree: int | None, *, accept_finalized_reorg: bool, **settings: Any
) -> FollowConfig:
    """Return the configuration of the followed nodes from options of a command line.

    Raises:
        ConfigurationError: An option is out of its range, or two contradict.
    """
    given = {"upstreams": upstreams, "agree": agree, "accept_finalized_reorg": accept_finalized_reorg}
    try:
        # `msgspec.convert` checks the type and range of each setting first; the constructor would check the
        # whole with unchecked settings.
        return msgspec.convert(given | settings, FollowConfig)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None


def follow_starknet_config(
    chain: str, upstreams: Sequence[str], agree: int | None, **settings: Any
) -> FollowStarknetConfig:
    """Return the configuration of a followed Starknet chain from options of a command line.

    Raises:
        ConfigurationError: An option is out of its range, or two contradict.
    """
    given = {"chain": chain, "upstreams": upstreams, "agree": agree}
    try:
        return msgspec.convert(given | settings, FollowStarknetConfig)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None


def overridden(
    config: Config,
    *,
    metrics_listen: str | None = None,
    limits: Mapping[str, float] | None = None,
    **settings: Any,
) -> Config:
    """Return `config` with the settings of the command line that are neither None, False nor empty.

    `limits` replace those of their names alone.

    Raises:
        ConfigurationError: A setting is invalid.
        ListenError: `listen` or `metrics_listen` is no address.
    """
    given = {name: value for name, value in settings.items() if value not in (None, False, ())}
    if metrics_listen is not None:
        given["metrics"] = MetricsConfig(listen=metrics_listen)
    if limits:
        # Few nodes have a limit on the command line, and the others start sooner without this module.
        from wsnode.node.config_file import AllLimits

        all_limits = AllLimits.of_config(config, limits)
        given |= {
            "limits": all_limits.server,
            "call_limits": all_limits.calls,
            "pool_limits": all_limits.pool,
        }
    try:
        config = msgspec.convert(msgspec.structs.asdict(config) | given, Config, from_attributes=True)
    except msgspec.ValidationError as error:
        raise ConfigurationError(place_of(error)) from error
    if (config.tls_cert is None) != (config.tls_key is None):
        raise ConfigurationError("tls_cert and tls_key: name both or neither")
    _ = config.address, config.metrics.address
    require_one_writer(config)
    return config


logger = logging.getLogger("wsnode.node")


def read_again(
    reread: Callable[[], Config], take: Callable[[Config], None] = lambda _config: None
) -> Config | None:
    """Return the configuration that `reread` returns, after `take` has applied its part of it.

    None if it cannot be read, or `take` fails; the log says why.
    """
    try:
        config = reread()
        take(config)
    except (ConfigurationError, OSError) as error:
        logger.error("the configuration stays as it was: %s", error)  # noqa: TRY400 - no bug of ours
    except Exception as error:
        log_failure("the configuration stays as it was", error)
    else:
        return config
    return None
