"""Starknet chain that repeats a journal, alone or beside the network's other chain."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from wsnode.cluster.membership import ClusterMembership, process_name
from wsnode.cluster.replica.following import Replica
from wsnode.cluster.replica.starknet import StarknetLogApplier, StarknetReplicaChain
from wsnode.cluster.starknet.chain_states import first_hash
from wsnode.ethereum.live.sync_feed import SyncProgress
from wsnode.ethereum.primitives.values import Hash32
from wsnode.node.config import ConfigurationError, NetworkConfig, ReplicaConfig
from wsnode.node.services.journal_client import opener_of
from wsnode.node.services.replica_status import figures_of, status_of
from wsnode.node.services.sync_events import SyncEvents
from wsnode.server.shared import MetricValue
from wsnode.starknet.chain import KNOWN_CHAINS, StarknetChain
from wsnode.starknet.felt import felt_bytes, felt_text
from wsnode.starknet.live.hub import StarknetHub
from wsnode.sync.follow.sync_report import SyncStage


def block_of(number: int, block_hash: bytes) -> dict[str, str]:
    """Return a block's number and hash in the form of `wsnode_status`."""
    return {"number": hex(number), "hash": felt_text(block_hash)}


def named_first_hash(chain: StarknetChain, config: ReplicaConfig) -> Hash32 | None:
    """Return the hash of the first block: the stored one, else the configured one; None if there is neither.

    Raises:
        ConfigurationError: The stored and the configured hash differ, or the configured text is no hash.
    """
    with chain.snapshot() as view:
        stored = first_hash(view)
    named = None if config.starknet is None else _hash_of(config.starknet)
    if stored is not None and named not in (None, stored):
        raise ConfigurationError(
            f"{chain.folder}: its first block is {felt_text(stored)}, not {felt_text(named or b'')}"
        )
    return stored or named


def _hash_of(text: str) -> Hash32:
    """Return the hash of a chain's first block by its name, or by its digits.

    Raises:
        ConfigurationError: `text` is neither.
    """
    for block_hash, name in KNOWN_CHAINS.items():
        if name == text:
            return Hash32(block_hash)
    try:
        return Hash32(felt_bytes(text))
    except ValueError as error:
        raise ConfigurationError(f"replica.starknet: {error}") from None


class StarknetReplicaService:
    """Replica of a Starknet chain: its background tasks and figures; in a network without another
    chain, also the reporter of the sync status.
    """

    def __init__(self, chain: StarknetChain, hub: StarknetHub, config: ReplicaConfig, first: Hash32) -> None:
        """Prepare to repeat the journal of the chain with `first` as the hash of its first block."""
        self._chain = chain
        self._first = first
        self._place = str(config.address)
        open_journal = opener_of(first, config.address)
        applier = StarknetLogApplier(chain, first, verify_roots=not config.trust_roots)
        self._copy = StarknetReplicaChain(chain, applier, hub.advance)
        self.replica = Replica(self._copy, open_journal, max_lag=config.max_lag)
        # It is not found by others: nothing can be fetched from it.
        self.presence = ClusterMembership(self._copy, open_journal, process_name(), None)

    @property
    def following(self) -> "StarknetReplicaService":
        """Return the reporter of the sync status for a network with only this chain."""
        return self

    @property
    def background(self) -> Sequence[Callable[[], Awaitable[None]]]:
        """Return the tasks that run as long as the network is served."""
        return (self.replica.run, self.presence.run)

    @property
    def progress(self) -> SyncProgress | None:
        """Return None, since no method of this family reports the progress."""
        return None

    @property
    def peers(self) -> int:
        """Return 0, since nodes of this family do not ask one another."""
        return 0

    async def send(self, encoded: bytes) -> None:
        """Fail, since no method of a network with only this chain takes a transaction."""
        raise AssertionError(encoded)

    def tell(self, news: SyncEvents) -> None:
        """Send events of the network to the other processes through `news` from now on."""
        self.replica.on_stage.append(news.stands_anew)

    def not_ready_reason(self) -> str | None:
        """Return the reason why the network should not be asked now, None if it is ready.

        Imports come and go: while the journal is empty, stored blocks are served.
        """
        found, replica = self.replica.not_ready_reason(), self.replica
        is_waiting = replica.stage is SyncStage.CONNECTING and replica.is_reachable
        if found is None or (is_waiting and self._copy.head.number >= 0):
            return None
        return f"alt: {found}"

    def announced_height(self) -> int | None:
        """Return None, since no call of this family waits for a block."""
        return None

    def reload(self, network: NetworkConfig) -> None:
        """Repeat the journal that a new configuration names, even after a record was refused."""
        if network.replica is not None:
            self._place = str(network.replica.address)
            self.presence.open = open_journal = opener_of(self._first, network.replica.address)
            self.replica.begin_again(open_journal)

    def status(self) -> dict[str, Any]:
        """Return the stage, head and lag of the chain, and the state of its journal."""
        replica, head = self.replica, self._copy.head
        return {
            "state": replica.stage.value,
            "head": None if head.number < 0 else block_of(head.number, head.hash),
            "highest": None if replica.replica_lag.tip is None else hex(replica.replica_lag.tip),
            "lag": replica.replica_lag.lag,
            "reorganisations": replica.reorganisations,
            **status_of(replica, self._place, self.presence),
        }

    async def tell_status(self) -> dict[str, Any]:
        """Return the result of `wsnode_status` for a network with only this chain."""
        alt = self.status()
        return {"mode": "replica", "head": alt["head"], "upstreams": [], "replica": {"alt": alt}}

    def figures(self) -> list[MetricValue]:
        """Return the metrics of the replica, for `/metrics`."""
        return figures_of(self.replica, self.presence, "alt")
