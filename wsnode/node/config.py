"""The configuration of a node: one frozen Struct for each component."""

import socket
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from wsnode.cluster.address import JournalAddress
from wsnode.cluster.journal import JournalLimits
from wsnode.ethereum.building.gas_limit import GAS_LIMIT_TARGET, MAX_GAS_LIMIT, MIN_GAS_LIMIT
from wsnode.ethereum.pool.limits import PoolLimits
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.node.listen_address import DEFAULT_LISTEN, ListenAddress
from wsnode.server.access.origin_policy import is_local_host
from wsnode.server.limits import Limits
from wsnode.sync.starknet.settings import FollowStarknetConfig
from wsnode.upstream.address import MAX_UPSTREAMS, UpstreamAddress, require_upstreams, usual_agreement
from wsnode.upstream.errors import AddressError

MAX_BEACONS = 8
MAX_WORKERS = 64
DEFAULT_WINDOW = 7_200
DEFAULT_WINDOW_SECONDS = 7_200
"""Seconds of blocks that the default window of a light folder keeps at least, whatever the block time."""
SECONDS_OF = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
WINDOW_BLOCKS = r"^[1-9][0-9]{0,9}$"
WINDOW_TIME = r"^[1-9][0-9]{0,4}[smhd]$"
"""A time: digits and a unit, at most 99,999 days."""
MIN_FULL_WINDOW = 64
"""Blocks of two epochs, after which a block is final."""
MAX_WINDOW = 1_000_000_000

NodeUrl = Annotated[str, msgspec.Meta(pattern=r"^(ws|http)s?://[^/]+")]


class ConfigurationError(Exception):
    """Error of a configuration that cannot be used; one line names the setting."""


class PartnerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the partner, a provider that is asked for transactions missing here. It is asked once this
    node's head is `stale_after` seconds old.
    """

    url: NodeUrl
    """URL of the provider: `ws://`, `wss://`, `http://` or `https://`."""
    stale_after: Annotated[float, msgspec.Meta(gt=0, le=1e15)] = 60.0
    """Age of the head in seconds from which on the provider is asked."""

    def __post_init__(self) -> None:
        """Raise ValueError if the port in the URL is no port number."""
        _ = urlsplit(self.url).port


class FollowConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for following other Ethereum nodes: their URLs, and how many of them must have a block before
    it is the head.
    """

    upstreams: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=MAX_UPSTREAMS)]
    """URLs of the nodes: `ws://`, `wss://`, `http://` or `https://`.

    Path, query and user may be keys: they are never logged or shown.
    """
    agree: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Number of upstreams that must have a block; if absent 1 of one or two upstreams, 2 of more."""
    max_lag: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 2
    """Blocks by which the head may be behind; beyond them `/readyz` is 503 until it is reached again."""
    accept_finalized_reorg: bool = False
    """True to accept once that a finalized block is replaced."""
    light: bool = False
    """True to have a new folder keep a window of blocks, verified and not executed.

    An old folder stays what it is.
    """
    window: (
        Annotated[int, msgspec.Meta(ge=1, le=MAX_WINDOW)]
        | Annotated[str, msgspec.Meta(pattern=WINDOW_TIME)]
        | None
    ) = None
    """Number of blocks that a new folder keeps, 64 or more in a full one; if absent all.

    For a light folder it may be a time, a whole number of `s`, `m`, `h` or `d` as in `"2h"`, and is 7,200
    blocks if absent, which is a day of 12 seconds a block, and two hours or more.
    """
    checkpoint: Annotated[str, msgspec.Meta(pattern="^0x[0-9a-fA-F]{64}$")] | None = None
    """Hash of the block with which a light folder begins; if absent, the block that the upstreams call final.

    With `beacon`, root of the beacon block from which on the head is proved; needed once.
    """
    beacon: Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_BEACONS)] = ()
    """URLs of beacon nodes that prove the head, `http://` or `https://`; if empty, the upstreams choose it.

    Not beside an engine, whose consensus client chooses the head.
    """
    head: Literal["proved", "announced"] | None = None
    """Head that is served: the proved block, or an announced one on top of it; `proved` if absent."""
    beacon_config: str | None = None
    """Path of the beacon chain's configuration, `config.yaml` or JSON, for a chain that is not known."""
    old_checkpoint: bool = False
    """True to accept a checkpoint of such an age that a chain on top of it could be forged."""
    chain: str | None = None
    """Chain of a new folder: a name of `wsnode chains`, or any chain id, instead of a genesis file; the
    folder is light unless `full`.
    """
    full: bool = False
    """True to have a new folder of a named chain execute every block."""

    @property
    def is_light(self) -> bool:
        """Return True if a new folder keeps a window of blocks, verified and not executed."""
        return self.light or (self.chain is not None and not self.full)

    @property
    def kind(self) -> FolderKind:
        """Return the kind of a new folder."""
        if isinstance(self.window, str):
            seconds = int(self.window[:-1]) * SECONDS_OF[self.window[-1]]
            return FolderKind(1, self.is_light, seconds)
        if self.window is None and self.is_light:
            return FolderKind(DEFAULT_WINDOW, self.is_light, DEFAULT_WINDOW_SECONDS, is_usual=True)
        return FolderKind(self.window, self.is_light)

    @property
    def agreeing(self) -> int:
        """Return the number of upstreams that must have a block before it is the head."""
        return usual_agreement(len(self.upstreams)) if self.agree is None else self.agree

    def __post_init__(self) -> None:
        """Raise ValueError if an upstream's URL is invalid or named twice, or if other settings
        contradict.
        """
        require_upstreams(self.upstreams)
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
            raise ValueError("checkpoint needs a light folder or a proved head: set light or beacon")
        for name in ("head", "beacon_config", "old_checkpoint"):
            if getattr(self, name):
                raise ValueError(f"{name} needs a proved head: name a beacon node")

    def _require_possible_window(self) -> None:
        kind = self.kind
        if kind.is_light or kind.window is None:
            return
        if kind.window_seconds is not None:
            raise ValueError(
                f"window: {self.window}: a window by time needs a light folder; name a number of blocks"
            )
        if kind.window < MIN_FULL_WINDOW:
            raise ValueError(
                f"window: {self.window}: a full folder keeps {MIN_FULL_WINDOW} blocks or more, "
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
    """Settings of a replica, a node whose chain copies a journal: the journal's address, and the state shared
    with the journal's other nodes.
    """

    journal: str
    """URL of the journal: `redis://`, `rediss://`, `redis+sentinel://`, `redis+cluster://` or `unix://`."""
    genesis: str | None = None
    """Path of the genesis of a chain that is not there yet, in geth's format."""
    max_lag: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 2
    """Blocks by which the head may be behind the journal's before `/readyz` fails."""
    advertise: NodeUrl | None = None
    """URL at which other nodes of the chain ask this one; its address if absent and no key is asked for."""
    shared_rates: bool = True
    """True to count the rate of a key over all nodes of the journal."""
    shared_filters: bool = True
    """True to have all nodes of the journal answer polls of a filter."""
    shared_pool: bool = True
    """True to hold the pending transactions of the node that writes in the pools of all nodes of the journal.
    """

    @property
    def address(self) -> JournalAddress:
        """Return the address of the journal.

        Raises:
            JournalAddressError: `journal` is no address of a journal.
        """
        return JournalAddress.parse(self.journal)

    def __post_init__(self) -> None:
        """Raise ValueError if `journal` is no URL of a journal."""
        _ = self.address


class EngineConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the Engine API: the port on which a consensus client drives the chain, and the secret of
    its tokens.
    """

    listen: str = "127.0.0.1:8551"
    """Address of the Engine API, host and port."""
    jwt_secret: str | None = None
    """Path of the secret that signs the client's tokens, 64 hexadecimal digits, with or without `0x`.

    If absent `jwt.hex` in the network's folder, which is made if needed, readable by its owner only.
    """
    genesis: str | None = None
    """Path of the genesis of a chain that is not there yet, in geth's format."""

    @property
    def address(self) -> ListenAddress:
        """Return the address to listen on.

        Raises:
            ListenError: `listen` is no address.
        """
        return ListenAddress.parse(self.listen)


class JournalConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the journal in Redis to which the writer of a chain publishes it for replicas, and the
    bounds of its records.
    """

    url: str
    """URL of the journal: `redis://`, `rediss://`, `redis+sentinel://`, `redis+cluster://` or `unix://`."""
    records: Annotated[int, msgspec.Meta(ge=1000, le=100_000_000)] = 100_000
    """Maximum number of records that the journal keeps; the oldest ones are dropped beyond them."""
    bytes: Annotated[int, msgspec.Meta(ge=1 << 20, le=1 << 40)] = 1 << 30
    """Maximum number of bytes of records, all of which Redis keeps in memory."""
    blocks: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 128
    """Number of last blocks whose records stay in the journal whatever their size."""
    advertise: NodeUrl | None = None
    """URL at which replicas ask this node; its address if absent and no key is asked for."""
    shared_rates: bool = True
    """True to count the rate of a key over all nodes of the journal."""
    shared_filters: bool = True
    """True to have all nodes of the journal answer polls of a filter."""
    shared_pool: bool = True
    """True to hold the pending transactions of the node that writes in the pools of all nodes of the journal.
    """

    @property
    def address(self) -> JournalAddress:
        """Return the address of the journal.

        Raises:
            JournalAddressError: `url` is no address of a journal.
        """
        return JournalAddress.parse(self.url)

    @property
    def bounds(self) -> JournalLimits:
        return JournalLimits(records=self.records, bytes=self.bytes, blocks=self.blocks)

    def __post_init__(self) -> None:
        """Raise ValueError if `url` is no URL of a journal."""
        _ = self.address


class ForkConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of a forked chain, one that begins on a block of another chain: nodes with proofs of its first
    block's state, and with the blocks below it.
    """

    upstreams: tuple[str, ...]
    """URLs of the nodes: `ws://`, `wss://`, `http://` or `https://`."""


class NetworkConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of one network: its data folder, the host names by which requests choose it (none: every
    host), and the source of its blocks.
    """

    data: str
    """Path of the network's data folder."""
    hosts: tuple[str, ...] = ()
    """Host names that choose the network; if empty every host; needed where there are several networks."""
    partner: PartnerConfig | None = None
    """Provider that is asked for missing transactions in an outage."""
    follow: FollowConfig | None = None
    """Nodes of the network's Ethereum chain that are followed."""
    follow_starknet: FollowStarknetConfig | None = None
    """Nodes of the network's Starknet chain that are followed."""
    pool: bool = True
    """True to have a pool, so that transactions can be sent to the network."""
    allow_unprotected: bool = False
    """True to accept transactions without a chain id too, though they are valid on every chain (EIP-155)."""
    gas_limit: Annotated[int, msgspec.Meta(ge=MIN_GAS_LIMIT, le=MAX_GAS_LIMIT)] = GAS_LIMIT_TARGET
    """Target of the gas limit of built blocks, in gas; a block moves towards it by a 1024th of its parent's.
    """
    fork: ForkConfig | None = None
    """Nodes of the chain on which a development chain began."""
    engine: EngineConfig | None = None
    """Port on which a consensus client chooses the head; without it other processes write the chain."""
    journal: JournalConfig | None = None
    """Journal to which the writer of the chain publishes it."""
    replica: ReplicaConfig | None = None
    """Journal that the chain repeats."""

    @property
    def rates_at(self) -> JournalAddress | None:
        """Return the address of the journal that counts rates of keys, None if this node counts alone."""
        shared = self.replica or self.journal
        return shared.address if shared is not None and shared.shared_rates else None

    @property
    def filters_at(self) -> JournalAddress | None:
        """Return the address of the journal that keeps filters, None if this node keeps its own."""
        shared = self.replica or self.journal
        return shared.address if shared is not None and shared.shared_filters else None

    @property
    def is_live(self) -> bool:
        """Return True if upstreams, a journal or a consensus client extend the chain in this node."""
        return self.follow is not None or self.engine is not None or self.replica is not None


class AllowedHosts(msgspec.Struct, frozen=True):
    """Host names, and origins of web pages, besides this machine's, that may use a chain without keys."""

    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()


class MetricsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `/metrics`: the address at which it is served, if at all."""

    enabled: bool = True
    """False to serve `/metrics` nowhere."""
    listen: str | None = None
    """Address for operators, with `/metrics`, `/healthz` and `/readyz`.

    If absent, `/metrics` is served to clients, on a node that asks for no keys.
    """

    @property
    def address(self) -> ListenAddress | None:
        """Return the operators' address, None if there is none or metrics are disabled.

        Raises:
            ListenError: `listen` is no address.
        """
        return None if self.listen is None or not self.enabled else ListenAddress.parse(self.listen)


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Configuration of a whole node: its networks, addresses, processes and limits."""

    networks: dict[str, NetworkConfig]
    """Networks by their names; at least one."""
    listen: str = DEFAULT_LISTEN
    """Address for clients, host and port; port 0 takes a free one."""
    unix_socket: str | None = None
    """Path of a Unix socket to listen on as well."""
    workers: Annotated[int, msgspec.Meta(ge=1, le=MAX_WORKERS)] = 1
    """Number of processes that serve clients; with two or more, one more process accepts connections for
    them.
    """
    open: bool = False
    """True to accept any API key, and paths without one."""
    console: bool = False
    """True to serve browsers a page that shows the node, at `/`."""
    tls_cert: str | None = None
    """Path of a certificate chain in PEM, with which the node serves `wss://` and `https://`."""
    tls_key: str | None = None
    """Path of the certificate's key in PEM; needed with `tls_cert`."""
    origins: tuple[str, ...] | None = None
    """Origins of web pages that may connect, `*` for all of them.

    If absent all may; on a node that asks for no keys and listens on this machine alone, only local pages.
    """
    metrics: MetricsConfig = MetricsConfig()
    """Access to `/metrics`."""
    slow_subscriber: Literal["resume", "close"] = "resume"
    """Treatment of a client that falls behind: a notice and the missed events (`resume`), or a notice and a
    close with 1013 (`close`).
    """
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level of lines that are logged."""
    log_format: Literal["human", "json"] = "human"
    """Form of the log's lines: text for people, or one JSON object each."""
    limits: Limits = Limits()
    """Limits of the server, of methods and of pools."""
    call_limits: CallLimits = CallLimits()
    pool_limits: PoolLimits = PoolLimits()

    @property
    def address(self) -> ListenAddress:
        return ListenAddress.parse(self.listen)

    @property
    def is_private(self) -> bool:
        """Return True if the node asks for no keys and listens on this machine alone."""
        return self.open and is_local_host(self.address.host)

    @property
    def serves_metrics_to_clients(self) -> bool:
        """Return True if clients can read `/metrics` at the node's main address."""
        return self.open and self.metrics.enabled and self.metrics.listen is None


def advertised(url: str | None, config: Config) -> str | None:
    """Return the URL at which other machines can ask a node: `url`, else its address.

    Return None without `url` if the node needs keys, or if the system chooses its port.
    """
    address = config.address
    if url is not None or not config.open or not address.port:
        return url
    is_everywhere = address.host in ("0.0.0.0", "::")
    scheme = "http" if config.tls_cert is None else "https"
    return (
        f"{scheme}://{ListenAddress(socket.gethostname() if is_everywhere else address.host, address.port)}/"
    )


def require_one_writer(config: Config) -> None:
    """Refuse several workers for a network that one process alone can serve.

    Raises:
        ConfigurationError: A network has an engine, is light, or follows a Starknet chain.
    """
    for name, network in config.networks.items():
        if config.workers > 1 and network.engine is not None:
            raise ConfigurationError(
                f"workers: networks.{name}.engine: one process builds payloads; "
                "serve its folder with workers from a second node"
            )
        if config.workers > 1 and network.follow_starknet is not None:
            raise ConfigurationError(
                f"workers: networks.{name}.follow_starknet: one process follows the chain and serves it; "
                "for more processes start nodes that follow this one"
            )
        if config.workers > 1 and network.follow is not None and network.follow.is_light:
            raise ConfigurationError(
                f"workers: networks.{name}.follow: one process serves a light folder; set workers to 1"
            )


def place_of(error: msgspec.ValidationError) -> str:
    """Return msgspec's text with the setting first: `limits.calls: Expected int, got str`."""
    text, separator, path = str(error).rpartition(" - at `$.")
    return (
        f"{path.rstrip('`').removeprefix('call_').removeprefix('pool_')}: {text}" if separator else str(error)
    )
