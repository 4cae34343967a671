"""The configuration of a node: one frozen Struct for each component."""

import socket
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from wsnode.cluster.address import JournalAddress
from wsnode.cluster.journal import Bounds
from wsnode.ethereum.building.gas_limit import GAS_LIMIT_TARGET, LEAST_GAS_LIMIT, MOST_GAS_LIMIT
from wsnode.ethereum.pool.limits import PoolLimits
from wsnode.ethereum.rpc.form.limits import CallLimits
from wsnode.ethereum.storage.kind import Kind
from wsnode.node.addresses import DEFAULT_LISTEN, Address
from wsnode.server.access.perimeter import is_local_host
from wsnode.server.limits import Limits
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.errors import AddressError

MOST_UPSTREAMS = 32
MOST_WORKERS = 64
DEFAULT_WINDOW = 7_200
LEAST_FULL_WINDOW = 64
"""Two epochs, after which a block is final."""
MOST_WINDOW = 1_000_000_000
FIRST_BLOCK = r"^(0x[0-9a-fA-F]{1,64}|SN_MAIN|SN_SEPOLIA)$"
"""The first block of an alt chain: its hash, or the name of a known chain."""


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
    accept_reorg: bool = False
    """Whether even what is final may be replaced, once."""
    light: bool = False
    """Whether a new folder keeps a window of blocks, verified and not executed."""
    window: Annotated[int, msgspec.Meta(ge=1, le=MOST_WINDOW)] | None = None
    """How many blocks a new folder keeps; if absent all, or in a light one a day of 12 seconds a block."""
    checkpoint: Annotated[str, msgspec.Meta(pattern="^0x[0-9a-fA-F]{64}$")] | None = None
    """The hash of the block with which a light folder begins; what the upstreams call final if absent."""
    chain: Literal["mainnet", "sepolia", "hoodi"] | None = None
    """The network of a new folder, instead of a genesis file."""

    @property
    def kind(self) -> Kind:
        """Return what a new folder is made as."""
        return Kind((self.window or DEFAULT_WINDOW) if self.light else self.window, self.light)

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
        if not self.light and (self.checkpoint, self.chain) != (None, None):
            raise ValueError("checkpoint and chain are of light folders: say light too")
        if not self.light and self.window is not None and self.window < LEAST_FULL_WINDOW:
            raise ValueError(
                f"window: {self.window}: a full folder keeps {LEAST_FULL_WINDOW} blocks or more, "
                "as many as may be replaced before one is final"
            )
        if self.agreeing > len(self.upstreams):
            raise ValueError(f"agree: {self.agreeing} of {len(self.upstreams)} upstreams cannot agree")


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
    alt: Annotated[str, msgspec.Meta(pattern=FIRST_BLOCK)] | None = None
    """The hash of the first block of an alt chain that is not there yet, or the name of a known one."""
    trust_roots: bool = False
    """Whether the alt chain's state roots are not recomputed."""

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
    def address(self) -> Address:
        """Return the address to listen on.

        Raises:
            ListenError: `listen` is none.
        """
        return Address.parse(self.listen)


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
    def bounds(self) -> Bounds:
        """Return what it keeps."""
        return Bounds(records=self.records, bytes=self.bytes, blocks=self.blocks)

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
        told = self.replica or self.journal
        return None if told is None or not told.shared_rates else told.address

    @property
    def filters_at(self) -> JournalAddress | None:
        """Return the journal that keeps filters for all its nodes, None if each keeps its own."""
        told = self.replica or self.journal
        return None if told is None or not told.shared_filters else told.address

    @property
    def is_live(self) -> bool:
        """Return whether its chain grows by others in the node's process: upstreams, a journal, an engine."""
        return self.follow is not None or self.engine is not None or self.replica is not None


class Guests(msgspec.Struct, frozen=True):
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
    def address(self) -> Address | None:
        """Return the operators' address.

        Raises:
            ListenError: `listen` is none.
        """
        return None if self.listen is None or not self.enabled else Address.parse(self.listen)


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
    def address(self) -> Address:
        """Return the address to listen on."""
        return Address.parse(self.listen)

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
    return f"{scheme}://{Address(socket.gethostname() if is_everywhere else address.host, address.port)}/"


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
        if config.workers > 1 and network.follow is not None and network.follow.light:
            raise ConfigurationError(
                f"workers: networks.{name}.follow: one process proves what a light folder tells"
            )


def place_of(error: msgspec.ValidationError) -> str:
    """Return msgspec's text with the setting first: `limits.calls: Expected int, got str`."""
    text, separator, path = str(error).rpartition(" - at `$.")
    return (
        f"{path.rstrip('`').removeprefix('call_').removeprefix('pool_')}: {text}" if separator else str(error)
    )
