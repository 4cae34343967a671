"""The configuration of a node: one frozen Struct for each component."""

import socket
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from wsnode.cluster.address import JournalAddress
from wsnode.cluster.journal import JournalBounds
from wsnode.ethereum.building.gas_limit import GAS_LIMIT_TARGET, LEAST_GAS_LIMIT, MOST_GAS_LIMIT
from wsnode.ethereum.pool.limits import PoolLimits
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.node.listen_address import DEFAULT_LISTEN, ListenAddress
from wsnode.server.access.origin_policy import is_local_host
from wsnode.server.limits import Limits
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.errors import AddressError

MOST_UPSTREAMS = 32
MOST_BEACONS = 8
MOST_WORKERS = 64
DEFAULT_WINDOW = 7_200
DEFAULT_WINDOW_SECONDS = 7_200
"""Of a light folder's window, so that chains of several blocks a second have as many hours as others."""
SECONDS_OF = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
WINDOW_BLOCKS = r"^[1-9][0-9]{0,9}$"
WINDOW_TIME = r"^[1-9][0-9]{0,4}[smhd]$"
"""A time, at most 99,999 days."""
LEAST_FULL_WINDOW = 64
"""Two epochs, after which a block is final."""
MOST_WINDOW = 1_000_000_000
FIRST_BLOCK = r"^(0x[0-9a-fA-F]{1,64}|SN_MAIN|SN_SEPOLIA)$"
"""The first block of a Starknet chain: its hash, or the name of a known chain."""


NodeUrl = Annotated[str, msgspec.Meta(pattern=r"^(ws|http)s?://[^/]+")]


class ConfigurationError(Exception):
    """The configuration cannot be used; one line names the place."""


class PartnerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The provider that is asked for missing transactions, once the head is `stale_after` seconds old."""

    url: NodeUrl
    stale_after: Annotated[float, msgspec.Meta(gt=0, le=1e15)] = 60.0

    def __post_init__(self) -> None:
        """Raise ValueError if the URL's port is none."""
        _ = urlsplit(self.url).port


class FollowConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The nodes that a network follows, and how many of them must have a block before it is the head."""

    upstreams: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=MOST_UPSTREAMS)]
    agree: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """One of one or two, two of more."""
    max_lag: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 2
    """How many blocks the head may be behind before `/readyz` says so."""
    accept_finalized_reorg: bool = False
    """Whether even what is final may be replaced, once."""
    light: bool = False
    """Whether a new folder keeps a window of blocks, verified and not executed."""
    window: (
        Annotated[int, msgspec.Meta(ge=1, le=MOST_WINDOW)]
        | Annotated[str, msgspec.Meta(pattern=WINDOW_TIME)]
        | None
    ) = None
    """How many blocks a new folder keeps, or of how much time (`2h`); if absent all.

    In a light one it is then a day of 12 seconds a block, and two hours or more.
    """
    checkpoint: Annotated[str, msgspec.Meta(pattern="^0x[0-9a-fA-F]{64}$")] | None = None
    """The hash of the block with which a light folder begins; what the upstreams call final if absent.

    With `beacon`, the root of the beacon block from which on the head is proved.
    """
    beacon: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST_BEACONS)] = ()
    """The beacon nodes that prove the head; the upstreams choose it if there is none."""
    head: Literal["proved", "announced"] | None = None
    """Whether the head is the proved block, or an announced one on top of it; `proved` if absent."""
    beacon_config: str | None = None
    """The file of the beacon chain's configuration, `config.yaml` or JSON, for a chain that is not known."""
    old_checkpoint: bool = False
    """Whether the checkpoint may be so old that a chain on top of it could be forged."""
    chain: str | None = None
    """The chain of a new folder: a name of `wsnode chains`, instead of a genesis file; light unless full."""
    full: bool = False
    """Whether a new folder of a named chain executes every block."""

    @property
    def is_light(self) -> bool:
        """Return whether a new folder keeps a window of blocks, verified and not executed."""
        return self.light or (self.chain is not None and not self.full)

    @property
    def kind(self) -> FolderKind:
        """Return what a new folder is made as."""
        if isinstance(self.window, str):
            seconds = int(self.window[:-1]) * SECONDS_OF[self.window[-1]]
            return FolderKind(1, self.is_light, seconds)
        if self.window is None and self.is_light:
            return FolderKind(DEFAULT_WINDOW, self.is_light, DEFAULT_WINDOW_SECONDS, is_usual=True)
        return FolderKind(self.window, self.is_light)

    @property
    def agreeing(self) -> int:
        """Return how many upstreams must have a block."""
        return (2 if len(self.upstreams) > 2 else 1) if self.agree is None else self.agree

    def __post_init__(self) -> None:
        """Raise ValueError if an upstream is no URL of a node, stands twice, or too many are to agree."""
        for place, url in enumerate(self.upstreams, 1):
            try:
                UpstreamAddress.parse(url)
            except AddressError as error:
                raise ValueError(f"upstream {place}: {error}") from None
        if len(set(self.upstreams)) < len(self.upstreams):
            raise ValueError("an upstream is named twice")
        self._require_possible_chain()
        self._require_possible_beacon()
        if self.agreeing > len(self.upstreams):
            raise ValueError(f"agree: {self.agreeing} of {len(self.upstreams)} upstreams cannot agree")
        self._require_possible_window()

    def _require_possible_beacon(self) -> None:
        for place, url in enumerate(self.beacon, 1):
            try:
                is_http = not UpstreamAddress.parse(url).is_websocket
            except AddressError as error:
                raise ValueError(f"beacon {place}: {error}") from None
            if not is_http:
                raise ValueError(f"beacon {place}: a beacon node is asked over http:// or https://")
        if len(set(self.beacon)) < len(self.beacon):
            raise ValueError("beacon: a URL is named twice")
        if self.beacon:
            return
        if not self.is_light and self.checkpoint is not None:
            raise ValueError(
                "checkpoint is of light folders, or of a head that is proved: say light or beacon"
            )
        for name in ("head", "beacon_config", "old_checkpoint"):
            if getattr(self, name):
                raise ValueError(f"{name} is of a head that is proved: name a beacon node")

    def _require_possible_window(self) -> None:
        kind = self.kind
        if kind.is_light or kind.window is None:
            return
        if kind.window_seconds is not None:
            raise ValueError(f"window: {self.window}: a window by time is of light folders")
        if kind.window < LEAST_FULL_WINDOW:
            raise ValueError(
                f"window: {self.window}: a full folder keeps {LEAST_FULL_WINDOW} blocks or more, "
                "as many as may be replaced before one is final"
            )

    def _require_possible_chain(self) -> None:
        if self.light and self.full:
            raise ValueError("light and full exclude each other")
        if self.chain is not None:
            from wsnode.ethereum.networks.table import find_network

            network = find_network(self.chain)
            if self.full and not network.is_executed:
                raise ValueError(
                    f"{network.name} cannot be followed with --full: wsnode does not execute its blocks"
                )


class ReplicaConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The journal that a network repeats."""

    journal: str
    """Its URL."""
    genesis: str | None = None
    """The genesis of a chain that is not there yet, in geth's format."""
    max_lag: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 2
    """How many blocks the head may be behind the journal's before `/readyz` says so."""
    advertise: NodeUrl | None = None
    """Where other nodes of the chain can ask this one; its address if absent and no key is asked for."""
    shared_rates: bool = True
    """Whether the rates of keys are one count over all nodes of the journal."""
    shared_filters: bool = True
    """Whether all nodes of the journal answer polls of a filter."""
    shared_pool: bool = True
    """Whether all nodes of the journal have what is pending at the one that writes."""
    starknet: Annotated[str, msgspec.Meta(pattern=FIRST_BLOCK)] | None = None
    """The hash of the first block of a Starknet chain that is not there yet, or the name of a known one."""
    trust_roots: bool = False
    """Whether the Starknet chain's state roots are not recomputed."""

    @property
    def address(self) -> JournalAddress:
        """Return where the journal is.

        Raises:
            JournalAddressError: `journal` is no address of one.
        """
        return JournalAddress.parse(self.journal)

    def __post_init__(self) -> None:
        """Raise ValueError if the URL is none of a journal."""
        _ = self.address


class EngineConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The port on which a consensus client drives the chain."""

    listen: str = "127.0.0.1:8551"
    jwt_secret: str | None = None
    """The file of the secret that its tokens are signed with; `jwt.hex` in the network's folder if absent."""
    genesis: str | None = None
    """The genesis of a chain that is not there yet, in geth's format."""

    @property
    def address(self) -> ListenAddress:
        """Return the address to listen on.

        Raises:
            ListenError: `listen` is none.
        """
        return ListenAddress.parse(self.listen)


class JournalConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The journal to which the process that writes a chain publishes it, and what that keeps."""

    url: str
    records: Annotated[int, msgspec.Meta(ge=1000, le=100_000_000)] = 100_000
    """The most records; the first ones are dropped beyond them."""
    bytes: Annotated[int, msgspec.Meta(ge=1 << 20, le=1 << 40)] = 1 << 30
    """The most bytes of records, which a Redis has in memory."""
    blocks: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 128
    """The last blocks, which stay whatever their size."""
    advertise: NodeUrl | None = None
    """Where replicas can ask this node; its address if absent and no key is asked for."""
    shared_rates: bool = True
    """Whether the rates of keys are one count over all nodes of the journal."""
    shared_filters: bool = True
    """Whether all nodes of the journal answer polls of a filter."""
    shared_pool: bool = True
    """Whether all nodes of the journal have what is pending at the one that writes."""

    @property
    def address(self) -> JournalAddress:
        """Return where it is.

        Raises:
            JournalAddressError: `url` is no address of a journal.
        """
        return JournalAddress.parse(self.url)

    @property
    def bounds(self) -> JournalBounds:
        """Return what it keeps."""
        return JournalBounds(records=self.records, bytes=self.bytes, blocks=self.blocks)

    def __post_init__(self) -> None:
        """Raise ValueError if the URL is none of a journal."""
        _ = self.address


class ForkConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The nodes that prove the state below a chain's first block, and have the blocks below it."""

    upstreams: tuple[str, ...]


class NetworkConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One network: its folder, and the hosts that choose it (none: every host)."""

    data: str
    hosts: tuple[str, ...] = ()
    partner: PartnerConfig | None = None
    follow: FollowConfig | None = None
    pool: bool = True
    """Whether transactions can be sent to it."""
    allow_unprotected: bool = False
    """Whether that holds for transactions without a chain id too, which are valid on every chain."""
    gas_limit: Annotated[int, msgspec.Meta(ge=LEAST_GAS_LIMIT, le=MOST_GAS_LIMIT)] = GAS_LIMIT_TARGET
    """The target of built blocks' gas limit."""
    fork: ForkConfig | None = None
    """The nodes of the chain on which a development chain began."""
    engine: EngineConfig | None = None
    """The port on which a consensus client chooses the head; without it other processes write the chain."""
    journal: JournalConfig | None = None
    """The journal to which the chain is published by the process that writes it."""
    replica: ReplicaConfig | None = None
    """The journal that the chain repeats."""

    @property
    def rates_at(self) -> JournalAddress | None:
        """Return the journal whose nodes count the rates of keys together, None if each counts alone."""
        journal_settings = self.replica or self.journal
        return (
            None
            if journal_settings is None or not journal_settings.shared_rates
            else journal_settings.address
        )

    @property
    def filters_at(self) -> JournalAddress | None:
        """Return the journal that keeps filters for all its nodes, None if each keeps its own."""
        journal_settings = self.replica or self.journal
        return (
            None
            if journal_settings is None or not journal_settings.shared_filters
            else journal_settings.address
        )

    @property
    def is_live(self) -> bool:
        """Return whether its chain grows by others in the node's process: upstreams, a journal, an engine."""
        return self.follow is not None or self.engine is not None or self.replica is not None


class AllowedHosts(msgspec.Struct, frozen=True):
    """The host names and web pages, besides those of this machine, that may use a chain without keys."""

    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()


class MetricsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The access to `/metrics`."""

    enabled: bool = True
    listen: str | None = None
    """An address for operators, with `/metrics`, `/healthz` and `/readyz`. Without one clients are served
    `/metrics` besides, where no keys are asked for."""

    @property
    def address(self) -> ListenAddress | None:
        """Return the operators' address.

        Raises:
            ListenError: `listen` is none.
        """
        return None if self.listen is None or not self.enabled else ListenAddress.parse(self.listen)


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole node."""

    networks: dict[str, NetworkConfig]
    listen: str = DEFAULT_LISTEN
    unix_socket: str | None = None
    """The path of a Unix socket to listen on as well."""
    workers: Annotated[int, msgspec.Meta(ge=1, le=MOST_WORKERS)] = 1
    """The processes that serve the clients; of more than one, another one accepts for all."""
    open: bool = False
    """Whether any key will do, and the bare path."""
    console: bool = False
    """Whether browsers are served a page that shows the node, at `/`."""
    tls_cert: str | None = None
    tls_key: str | None = None
    origins: tuple[str, ...] | None = None
    """The web pages that may connect, `*` for all of them. If absent: all of them, but on a node of this
    machine alone that asks for no keys those of this machine."""
    metrics: MetricsConfig = MetricsConfig()
    slow_subscriber: Literal["resume", "close"] = "resume"
    """The treatment of a client that falls behind: a notice and the missed events (`resume`), or a notice and
    a close with 1013 (`close`)."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["human", "json"] = "human"
    limits: Limits = Limits()
    call_limits: CallLimits = CallLimits()
    pool_limits: PoolLimits = PoolLimits()

    @property
    def address(self) -> ListenAddress:
        """Return the address to listen on."""
        return ListenAddress.parse(self.listen)

    @property
    def is_private(self) -> bool:
        """Return whether the node asks for no keys and listens to this machine alone."""
        return self.open and is_local_host(self.address.host)

    @property
    def serves_metrics_to_clients(self) -> bool:
        """Return whether `/metrics` is among the clients' pages."""
        return self.open and self.metrics.enabled and self.metrics.listen is None


def advertised(url: str | None, config: Config) -> str | None:
    """Return where other machines can ask a node, None if that is not known."""
    address = config.address
    if url is not None or not config.open or not address.port:
        return url
    is_everywhere = address.host in ("0.0.0.0", "::")
    scheme = "http" if config.tls_cert is None else "https"
    return (
        f"{scheme}://{ListenAddress(socket.gethostname() if is_everywhere else address.host, address.port)}/"
    )


def require_one_writer(config: Config) -> None:
    """Refuse several workers where one process answers what others cannot.

    Raises:
        ConfigurationError: A network has an engine, or is light.
    """
    for name, network in config.networks.items():
        if config.workers > 1 and network.engine is not None:
            raise ConfigurationError(
                f"workers: networks.{name}.engine: one process builds payloads; "
                "serve its folder with workers from a second node"
            )
        if config.workers > 1 and network.follow is not None and network.follow.is_light:
            raise ConfigurationError(
                f"workers: networks.{name}.follow: one process proves what a light folder tells"
            )


def place_of(error: msgspec.ValidationError) -> str:
    """Return msgspec's text with the setting first: `limits.calls: Expected int, got str`."""
    text, separator, path = str(error).rpartition(" - at `$.")
    return (
        f"{path.rstrip('`').removeprefix('call_').removeprefix('pool_')}: {text}" if separator else str(error)
    )
