"""Configuration in a TOML file, with a line number and the nearest known setting for each mistake."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from wsnode.ethereum.pool.limits import PoolLimits
from wsnode.ethereum.rpc.common.limits import CallLimits
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
from wsnode.node.listen_address import ListenError
from wsnode.server.limits import Limits
from wsnode.sync.starknet.settings import FollowStarknetConfig
from wsnode.untrusted.decoding import CONTROL, printable
from wsnode.untrusted.files import read_file

_LACKING = re.compile(r"missing required field `(\w+)`")
_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""\s*["']?([\w-]+)["']?\s*(?:=|\.)""")
_LIKENESS = 0.6

SettingPath = tuple[str, ...]
"""Names of the tables around a setting, and its own."""


class KnownNames(NamedTuple):
    """Names of the settings that one table of a configuration may hold, and its subtables; `*` stands for a
    subtable of any name.
    """

    names: Sequence[str]
    tables: Mapping[str, "KnownNames"] = {}


class UnknownName(NamedTuple):
    """Setting whose name is not known in its table: its path, and the names known there; `str` is the message
    about it.
    """

    path: SettingPath
    known: Sequence[str]

    def __str__(self) -> str:
        place = ".".join(self.path)
        nearest = nearest_to(self.path[-1], self.known)
        if nearest is None:
            return f"{place}: unknown setting; there are {', '.join(sorted(self.known))}"
        return f"{place}: unknown setting; the nearest is {'.'.join((*self.path[:-1], nearest))}"


def unknown_names(
    content: Mapping[str, Any], known: KnownNames, path: SettingPath = ()
) -> Iterator[UnknownName]:
    """Yield the unknown names in `content`, in their order."""
    for name, value in content.items():
        if name not in known.names and "*" not in known.tables:
            yield UnknownName((*path, name), known.names)
        table = known.tables.get(name, known.tables.get("*"))
        if table is not None and isinstance(value, dict):
            yield from unknown_names(value, table, (*path, name))


def nearest_to(name: str, known: Sequence[str]) -> str | None:
    """Return the known name that is most like `name`, None if none is like it."""
    # Only a wrong configuration needs `difflib`, which an import at the top would load at each start.
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, known, n=1, cutoff=_LIKENESS)), None)


def line_of(text: str, path: SettingPath) -> int | None:
    """Return the number of the line in TOML `text`, from 1 on, where `path` is set or its table begins.

    None if there is no such line.
    """
    table: SettingPath = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = tuple(part.strip(" \"'") for part in header[1].split("."))
            if table[: len(path)] == path:
                return number
        elif (key := _KEY.match(line)) and (*table, key[1]) == path:
            return number
    return None


class AllLimits(msgspec.Struct, frozen=True):
    """Limits of a `limits` table of the configuration file: of the server, the methods and the pools."""

    server: Limits = Limits()
    calls: CallLimits = CallLimits()
    pool: PoolLimits = PoolLimits()

    @classmethod
    def of_table(cls, table: Mapping[str, Any]) -> "AllLimits":
        """Return limits with the values of a table, and defaults for all others.

        Raises:
            ConfigurationError: A name is unknown, or a value is out of its range.
        """
        for unknown in unknown_names(table, KNOWN.tables["limits"]):
            raise ConfigurationError(str(unknown))
        try:
            config = msgspec.convert(_with_limits_apart({"networks": {}, "limits": {**table}}), Config)
        except msgspec.ValidationError as error:
            raise ConfigurationError(place_of(error).removeprefix("limits.")) from error
        return cls(config.limits, config.call_limits, config.pool_limits)

    @classmethod
    def of_config(cls, config: Config, changes: Mapping[str, float]) -> "AllLimits":
        """Return the limits of a configuration, with `changes` in place of its values.

        Raises:
            ConfigurationError: A name is unknown, or a value is out of its range.
        """
        table: dict[str, Any] = {}
        for limits in (config.limits, config.call_limits, config.pool_limits):
            table |= msgspec.to_builtins(limits)
        return cls.of_table({**table, **changes})


_LIMITS = (Limits, CallLimits, PoolLimits)
_NETWORK = KnownNames(
    NetworkConfig.__struct_fields__,
    {
        "partner": KnownNames(PartnerConfig.__struct_fields__),
        "follow": KnownNames(FollowConfig.__struct_fields__),
        "follow_starknet": KnownNames(FollowStarknetConfig.__struct_fields__),
        "fork": KnownNames(ForkConfig.__struct_fields__),
        "engine": KnownNames(EngineConfig.__struct_fields__),
        "journal": KnownNames(JournalConfig.__struct_fields__),
        "replica": KnownNames(ReplicaConfig.__struct_fields__),
    },
)
KNOWN = KnownNames(
    [name for name in Config.__struct_fields__ if name not in ("call_limits", "pool_limits")],
    {
        "limits": KnownNames([name for limits in _LIMITS for name in limits.__struct_encode_fields__]),
        "metrics": KnownNames(MetricsConfig.__struct_fields__),
        "networks": KnownNames((), {"*": _NETWORK}),
    },
)


MAX_BYTES: Final = 16 << 20


class ConfigurationReport(NamedTuple):
    """Result of reading a configuration: its valid part, and one line for each mistake."""

    config: Config | None
    """None if the file cannot be read."""
    mistakes: Sequence[str]
    unsound: Set[str] = frozenset()
    """Names of the networks that have a mistake."""


def read(path: Path) -> Config:
    """Return the configuration in a TOML file; relative paths are relative to the file.

    Raises:
        ConfigurationError: The file cannot be read, or a setting is unknown or invalid.
    """
    return _sound(examine(path))


def checked(content: dict[str, Any], folder: Path, source: str, text: str = "") -> Config:
    """Return the configuration in `content`, with paths relative to `folder`.

    `text` is the TOML source, for the line of a mistake.

    Raises:
        ConfigurationError: A setting is unknown or invalid.
    """
    return _sound(_examined(content, folder, source, text))


def examine(path: Path) -> ConfigurationReport:
    """Return the configuration in a TOML file, with every mistake in it.

    Relative paths are relative to the file.
    """
    try:
        text = read_file(path, MAX_BYTES).decode()
        content = msgspec.toml.decode(text)
    except OSError as error:
        return ConfigurationReport(None, [f"{path}: {error.strerror}"])
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        return ConfigurationReport(None, [printable(f"{path}: {error}")])
    return _examined(content, path.parent, str(path), text)


def _sound(examined: ConfigurationReport) -> Config:
    if examined.mistakes or examined.config is None:
        raise ConfigurationError(examined.mistakes[0])
    return examined.config


def _examined(content: dict[str, Any], folder: Path, source: str, text: str) -> ConfigurationReport:
    found: list[_Mistake] = []
    for unknown in unknown_names(content, KNOWN):
        line = line_of(text, unknown.path)
        found.append(_Mistake(unknown.path, str(unknown), line))
    found += _with_control_characters(_without(content, [mistake.path for mistake in found]))
    known = _without(content, [mistake.path for mistake in found])
    config = _valid_part(known, found)
    found += _contradictions(config, {mistake.path[:2] for mistake in found})
    unsound = {
        mistake.path[1] for mistake in found if len(mistake.path) > 1 and mistake.path[0] == "networks"
    }
    mistakes = [printable(f"{source}:{mistake}") for mistake in found]
    return ConfigurationReport(_relative_to(folder, config), mistakes, unsound)


def _with_control_characters(content: Any, path: tuple[str, ...] = ()) -> "Iterator[_Mistake]":
    """Yield a mistake for each name or text with control characters, which are in no path or host."""
    if isinstance(content, str) and CONTROL.search(content):
        yield _Mistake(path, f"{'.'.join(path)}: {content!r} has control characters")
    elif isinstance(content, list):
        for each in content:
            yield from _with_control_characters(each, path)
    elif isinstance(content, dict):
        for name, value in content.items():
            if CONTROL.search(name):
                yield _Mistake((*path, name), f"{'.'.join((*path, name))}: the name has control characters")
            else:
                yield from _with_control_characters(value, (*path, name))


class _Mistake(NamedTuple):
    """Mistake at a place of a configuration; its text begins with the line, if known."""

    path: tuple[str, ...]
    reason: str
    line: int | None = None

    def __str__(self) -> str:
        return f"{'' if self.line is None else f' line {self.line}:'} {self.reason}"


def _valid_part(content: dict[str, Any], found: list[_Mistake]) -> Config:
    """Return the configuration of all valid settings; add the others to `found`."""
    networks = content.get("networks")
    if isinstance(networks, dict) and networks:
        # The decoder does not name the network with the mistake, so each is decoded by itself.
        apart = {
            name: _valid({"networks": {name: section}}, found, name) for name, section in networks.items()
        }
        whole = {name: left["networks"][name] for name, left in apart.items() if left.get("networks")}
        content = _valid(content | {"networks": {}}, found) | {"networks": whole}
    else:
        content = _valid(content, found)
    return msgspec.convert(_with_limits_apart({"networks": {}} | content), Config)


def _valid(content: dict[str, Any], found: list[_Mistake], network: str = "") -> dict[str, Any]:
    """Return the valid settings of `content`, which has at most one network; add the others to `found`."""
    while True:
        try:
            msgspec.convert(_with_limits_apart({"networks": {}} | content), Config)
        except msgspec.ValidationError as error:
            reason = place_of(error).replace("networks[...]", f"networks.{network}", 1)
            path = _path_of(reason, network)
            lacks = _LACKING.search(reason)
            # A required setting is also missing after its invalid value was removed; that mistake has a line
            # already.
            if lacks is None or (*path, lacks[1]) not in (mistake.path for mistake in found):
                found.append(_Mistake(path, reason))
            content = _without(content, [path])
        else:
            return content


def _path_of(reason: str, network: str) -> tuple[str, ...]:
    """Return the path of the setting with which `reason` begins; for a value in a list, the list's path."""
    place = reason.partition(": ")[0]
    if network:
        # The network's name may contain dots and brackets, so it is not split.
        return (
            "networks",
            network,
            *place.removeprefix(f"networks.{network}").partition("[")[0].split(".")[1:],
        )
    return tuple(place.partition("[")[0].split("."))


def _without(content: dict[str, Any], paths: Iterable[tuple[str, ...]]) -> dict[str, Any]:
    """Return `content` without the settings at `paths`."""
    content = dict(content)
    for first, *rest in paths:
        inner = content.get(first)
        if rest and isinstance(inner, dict):
            content[first] = _without(inner, [tuple(rest)])
        else:
            content.pop(first, None)
    return content


def _contradictions(config: Config, unsound: Set[tuple[str, ...]]) -> Iterator[_Mistake]:
    """Yield contradictions between settings that are valid by themselves.

    The networks at `unsound` paths have other mistakes and are left out.
    """
    if not config.networks and not any(path[0] == "networks" for path in unsound):
        yield _Mistake(("networks",), "networks: at least one is needed")
    yield from _of_hosts(config)
    yield from _of_addresses(config)
    for name, network in config.networks.items():
        if ("networks", name) not in unsound:
            for part, reason in _of_network(network):
                yield _Mistake(("networks", name), f"networks.{name}.{part}: {reason}")
    try:
        require_one_writer(config)
    except ConfigurationError as error:
        yield _Mistake(("workers",), str(error))


def _of_addresses(config: Config) -> Iterator[_Mistake]:
    listening: dict[str, Config | MetricsConfig] = {"listen": config, "metrics.listen": config.metrics}
    for name, section in listening.items():
        try:
            _ = section.address
        except ListenError as error:
            yield _Mistake((name,), f"{name}: {error}")


def _of_network(network: NetworkConfig) -> Iterator[tuple[str, str]]:
    """Yield the setting and the reason of each contradiction in a network."""
    if network.engine is not None:
        if network.follow is not None and network.follow.beacon:
            yield "follow.beacon", "with `engine` a consensus client chooses the head"
        if not network.pool:
            yield "engine", "payloads are built from the pool: remove `pool = false`"
        try:
            _ = network.engine.address
        except ListenError as error:
            yield "engine.listen", str(error)
    if network.journal is not None and not network.is_live:
        yield (
            "journal",
            "the process that writes a chain publishes it; this one would need `follow` or `engine`",
        )
    if network.replica is not None and (network.follow, network.engine, network.journal) != (None,) * 3:
        yield (
            "replica",
            "a journal alone tells what a replica's chain is; "
            "`follow`, `engine` and `journal` are of the node that writes it",
        )


def _relative_to(folder: Path, config: Config) -> Config:
    def resolved(path: str | None) -> str | None:
        return None if path is None else str(folder / path)

    def engine(section: EngineConfig | None) -> EngineConfig | None:
        if section is None:
            return None
        secret, genesis = resolved(section.jwt_secret), resolved(section.genesis)
        return msgspec.structs.replace(section, jwt_secret=secret, genesis=genesis)

    def replica(section: ReplicaConfig | None) -> ReplicaConfig | None:
        return section and msgspec.structs.replace(section, genesis=resolved(section.genesis))

    def follow(section: FollowConfig | None) -> FollowConfig | None:
        return section and msgspec.structs.replace(section, beacon_config=resolved(section.beacon_config))

    networks = {
        name: msgspec.structs.replace(
            network,
            data=str(folder / network.data),
            follow=follow(network.follow),
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
    """Return `content` with its table of limits split into those of server, methods and pools."""
    table = content.get("limits", {})
    if not isinstance(table, dict):
        raise msgspec.ValidationError("Expected `object` - at `$.limits`")
    of_calls = {name: value for name, value in table.items() if name in CallLimits.__struct_fields__}
    of_pool = {name: value for name, value in table.items() if name in PoolLimits.__struct_encode_fields__}
    of_server = {name: value for name, value in table.items() if name not in {**of_calls, **of_pool}}
    return content | {"limits": of_server, "call_limits": of_calls, "pool_limits": of_pool}


def _of_hosts(config: Config) -> Iterator[_Mistake]:
    seen: dict[str, str] = {}
    for name, network in config.networks.items():
        place = f"networks.{name}.hosts"
        if not network.hosts and len(config.networks) > 1:
            yield _Mistake(("networks", name), f"{place}: needed where there are several networks")
        for host in network.hosts:
            other = seen.setdefault(host.lower(), name)
            if other != name:
                yield _Mistake(("networks", name), f"{place}: {host} belongs to {other} already")
