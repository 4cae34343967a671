"""Anchor of the head: the newest block signed by the sync committee, once it is fetched and judged."""

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from random import uniform
from typing import Any, Final

import msgspec
import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32, hexadecimal
from wsnode.ethereum.storage import meta
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.sync.errors import NO_CHECKPOINT, CheckpointError
from wsnode.sync.follow.beacon.api import BeaconApi
from wsnode.sync.follow.beacon.beacon_node import FIRST_PAUSE, MAX_PAUSE, BeaconNode
from wsnode.sync.follow.beacon.identity import Config, chain_of, coming_fork, decode_identity, difference
from wsnode.sync.follow.beacon.light_client import (
    BeaconNetwork,
    LightClient,
    LightClientChange,
    LightClientRowError,
    OldCheckpointError,
    ProvedHeader,
    ProverState,
    ProverStatus,
)
from wsnode.sync.follow.beacon.networks import DAY, BeaconChain
from wsnode.sync.follow.beacon.prover import QUARANTINE_SECONDS, HeadProver, RunSync, wall_clock
from wsnode.sync.follow.storage_retry import StorageRetry
from wsnode.untrusted.decoding import MalformedError
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError
from wsnode.upstream.link import Connect

ANNOUNCED_AHEAD: Final = 8
"""Maximum number of blocks of an announced head above the proved block, where announced heads are served."""
WITHHELD_SLOTS: Final = 2
KEPT_HEADERS: Final = 256
"""Number of recent proved headers kept; the safe block is among them."""
NO_HASH: Final = bytes(32)
"""Execution block hash in a header before the merge."""
GENESIS_PATH: Final = "/eth/v1/beacon/genesis"
SPEC_PATH: Final = "/eth/v1/config/spec"

logger = logging.getLogger("wsnode.follow")


class AnchorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of `HeadAnchor`, which proves the head: beacon nodes, checkpoint, beacon chain, and the kind
    of head to serve.
    """

    addresses: Sequence[UpstreamAddress]
    checkpoint: bytes | None = None
    """Root of the beacon block to begin with; None to begin with the stored light client."""
    serves_announced: bool = False
    """True if the head may be an announced block on top of the proved one."""
    beacon_chain: BeaconChain | None = None
    """Expected beacon chain; the chain of the first node if None."""
    config: Config = {}
    """Values that replace those of the first node's configuration, if `beacon_chain` is None."""
    accepts_old: bool = False
    """True if the checkpoint may be older than the weak subjectivity period: such a chain could be forged."""
    now: Callable[[], float] = wall_clock
    """Clock in seconds since 1970."""
    run_sync: RunSync = trio.to_thread.run_sync
    """Runner of verification, and of writes of the stored row."""


class HeadAnchor:
    """Head of one chain as a light client of the beacon chain proves it, and the state of its block in this
    node: fetched, judged valid, or missing.
    """

    def __init__(
        self,
        chain: Chain,
        live: LiveTree,
        settings: AnchorSettings,
        storage_retry: StorageRetry,
        connect: Connect | None = None,
    ) -> None:
        """Read the stored light client if the beacon chain is configured; `connect` opens connections.

        Raises:
            CheckpointError: There is neither a checkpoint nor a stored light client, or the stored one is too
                old or cannot be read.
        """
        self._chain = chain
        self._live = live
        self._settings = settings
        self._storage_retry = storage_retry
        self._connect = connect
        self._now = settings.now
        self._run_sync = settings.run_sync
        self._beacon_chain = settings.beacon_chain
        self.nodes = self._named(settings.addresses)
        self._nursery: trio.Nursery | None = None
        self._identified = trio.Event()
        """Set when the first node was identified as one of the expected chain."""
        self.prover: HeadProver | None = None
        self.changed = trio.Event()
        """Event set when another block is proved or finalized, and then replaced by a new event."""
        self.head: Head | None = None
        """Newest proved block that is judged valid here."""
        self._located: Head | None = None
        """Newest proved block that an upstream has sent."""
        self._missing_since: int | None = None
        """Slot of the clock since which no upstream has the newest proved block, or None."""
        self._headers: deque[tuple[int, Hash32]] = deque(maxlen=KEPT_HEADERS)
        self._row_due = trio.Event()
        self._row: bytes | None = None
        """Row of the light client as it is stored, or None without one."""
        self._warned_fork = ""
        self._refusal: CheckpointError | None = None
        """Error of the checkpoint, or of the stored light client: nothing is proved after it."""
        self._stored: LightClient | None = None
        if self._beacon_chain is not None:
            # The stored light client is read before anything is served, so that a start from which proofs
            # cannot go on is refused immediately.
            self._begin_stored(self._beacon_chain)

    def _named(self, addresses: Sequence[UpstreamAddress]) -> list[BeaconNode]:
        nodes: list[BeaconNode] = []
        for address in addresses:
            same = sum(str(other.api) == str(address) for other in nodes)
            name = f"{address}#{same + 1}" if same else str(address)
            nodes.append(BeaconNode(name, BeaconApi(address, self._connect)))
            nodes[-1].is_identified = False
        return nodes

    def follow(self, addresses: Sequence[UpstreamAddress]) -> None:
        """Ask the beacon nodes with these addresses only; usable ones are kept, others identified anew."""
        assert self._nursery is not None, "run is running"
        kept = {node.api.address: node for node in self.nodes if node.is_usable}
        nodes = [kept.get(node.api.address, node) for node in self._named(addresses)]
        for node in self.nodes:
            node.is_dropped = node not in nodes
        new = [node for node in nodes if node not in self.nodes]
        self.nodes[:] = nodes
        for node in new:
            self._nursery.start_soon(self._identify, node)

    @property
    def ahead(self) -> int:
        """Return how many blocks the head may be above the proved block; 0 unless announced heads are
        served.
        """
        return ANNOUNCED_AHEAD if self._settings.serves_announced else 0

    @property
    def clock_slot(self) -> int | None:
        return None if self.prover is None else self.prover.clock_slot

    @property
    def wanted(self) -> Hash32 | None:
        """Return the execution block hash of the newest proved header, or None before there is one."""
        return None if self.prover is None else _hash_of(self.prover.proved)

    @property
    def finalized(self) -> Hash32 | None:
        return None if self.prover is None else _hash_of(self.prover.finalized)

    @property
    def safe_blocks(self) -> Iterator[Hash32]:
        """Yield the hashes of blocks that may be the safe one, the newest first.

        They are the finalized block, and those that were proved at least an epoch before the proved head or,
        where announced heads are served, the proved head alone. A block may have left the chain since.
        """
        if self.prover is None or (proved := self.prover.proved) is None:
            return
        old: list[tuple[int, Hash32 | None]] = [(proved.slot, _hash_of(proved))]
        if not self._settings.serves_announced:
            epoch = self._beacon_chain.slots_per_epoch if self._beacon_chain is not None else 0
            old = [(slot, found) for slot, found in self._headers if slot <= proved.slot - epoch]
            if (finalized := self.prover.finalized) is not None:
                old.append((finalized.slot, _hash_of(finalized)))
        by_slot = sorted(old, key=lambda each: each[0], reverse=True)
        yield from (found for _slot, found in by_slot if found is not None)

    @property
    def is_fresh(self) -> bool:
        """Return True if the proved head is at most `MISSED_SLOTS` slots behind the clock."""
        if self.prover is None:
            return False
        return self.prover.status().state in (ProverState.PROVING, ProverState.NO_FINALITY)

    @property
    def is_current(self) -> bool:
        """Return True if the newest proved block is judged here, and is fresh."""
        return self.head is not None and self.head.hash == self.wanted and self.is_fresh

    @property
    def is_missing(self) -> bool:
        return self._missing_since is not None

    @property
    def is_catching_up(self) -> bool:
        """Return True if the light client lacks the committee of the clock's period, or has not begun."""
        return self.prover is None or self.prover.status().state is ProverState.CATCHING_UP

    @property
    def forked(self) -> str | None:
        return None if self.prover is None else self.prover.forked

    @property
    def first(self) -> Hash32 | None:
        """Return the hash of a new light folder's first block, or None while proofs are behind the clock."""
        return self.finalized if self.is_fresh else None

    @property
    def highest(self) -> int | None:
        """Return the number of the last proved block sent by an upstream, or None before there is one."""
        return None if self._located is None else self._located.number

    @property
    def pause_seconds(self) -> float:
        """Return the pause between two requests for a missing proved block, in seconds: 0.25 to 3."""
        slot = 12.0 if self._beacon_chain is None else self._beacon_chain.slot_milliseconds / 1000
        return min(max(slot / 4, 0.25), 3.0)

    def located(self, head: Head) -> None:
        """Note that an upstream has sent the newest proved block."""
        self._located, self._missing_since = head, None

    def reached(self, head: Head) -> None:
        """Note that the newest proved block and its ancestors are judged valid."""
        self.located(head)
        self.head = head

    def missing(self) -> None:
        """Note that no upstream has the newest proved block."""
        if self._missing_since is None and self.prover is not None:
            self._missing_since = self.prover.clock_slot

    def status(self) -> ProverStatus:
        """Return the state of the proofs, with the reason if this node is not ready in it."""
        if self._refusal is not None:
            return ProverStatus(ProverState.OLD_CHECKPOINT, str(self._refusal))
        if self.prover is None:
            return ProverStatus(ProverState.STARTING, "no beacon URL has said of which chain it is")
        found = self.prover.status()
        # A withheld block takes precedence over a late head: a late head may be stored here already, and the
        # withheld block says more.
        if found.state not in (ProverState.STARTING, ProverState.CATCHING_UP) and self._is_withheld:
            wanted = self.wanted
            assert wanted is not None, "a proved block is missing"
            return ProverStatus(
                ProverState.WITHHELD,
                f"no upstream gives block {hexadecimal(wanted)}, which the committee has signed",
            )
        return found

    @property
    def _is_withheld(self) -> bool:
        if self._missing_since is None or self.prover is None:
            return False
        return self.prover.clock_slot - self._missing_since >= WITHHELD_SLOTS - 1

    @property
    def trust(self) -> str:
        checkpoint = self._settings.checkpoint
        if self.prover is not None and self.prover.client is not None:
            checkpoint = self.prover.client.checkpoint
        begun = "" if checkpoint is None else f", from checkpoint {hexadecimal(Hash32(checkpoint))} on"
        proved = f"the head is signed by the sync committee{begun}"
        if not self._settings.serves_announced:
            return proved
        return f"{proved}; up to {ANNOUNCED_AHEAD} blocks above it are the upstreams' word"

    def members(self) -> dict[str, Any]:
        """Return the member `beacon` of `wsnode_status`."""
        head = None if self.head is None else self.head.members()
        mode = "announced" if self._settings.serves_announced else "proved"
        if self.prover is None:
            told: dict[str, Any] = {"urls": [node.members(None) for node in self.nodes]}
        else:
            told = self.prover.members()
        if (beacon_chain := self._beacon_chain) is not None:
            told["slotSeconds"] = beacon_chain.slot_milliseconds / 1000
            told["committeeSize"] = beacon_chain.committee_size
        status = self.status()
        reason = {} if status.reason is None else {"reason": status.reason}
        return told | {"state": status.state.value, **reason, "serves": mode, "head": head}

    async def run(self) -> None:
        """Identify the beacon nodes, prove heads, and store the light client, for ever."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(self._keep_row)
            for node in self.nodes:
                nursery.start_soon(self._identify, node)
            await self._identified.wait()
            assert self._beacon_chain is not None, "the first node has said which it is"
            try:
                self.prover = self.prover or self._new_prover(self._beacon_chain)
                await self.prover.run()
            except CheckpointError as error:
                self._refuse(error)
                await trio.sleep_forever()

    def _refuse(self, error: CheckpointError) -> None:
        if self._refusal is None:
            logger.error("%s", error)
        self._refusal = error

    def _new_prover(self, beacon_chain: BeaconChain) -> HeadProver:
        client = self._stored if self._goes_on_with(self._stored) else None
        checkpoint = self._settings.checkpoint if client is None else client.checkpoint
        assert checkpoint is not None, "a start without one is refused"
        prover = HeadProver(
            beacon_chain.network,
            self.nodes,
            checkpoint,
            client,
            slot_seconds=beacon_chain.slot_milliseconds / 1000,
            committee_size=beacon_chain.committee_size,
            now=self._now,
            run_sync=self._run_sync,
        )
        prover.accept = self._accepted
        prover.on_proved.append(self._note)
        return prover

    def _begin_stored(self, beacon_chain: BeaconChain) -> None:
        """Set the beacon chain, and read its stored light client if there is one.

        Raises:
            CheckpointError: The stored light client cannot be used, or there is neither one nor a checkpoint.
        """
        checkpoint, stored = self._settings.checkpoint, self._decoded(beacon_chain.network)
        if stored is None and checkpoint is None:
            raise CheckpointError(NO_CHECKPOINT)
        if stored is not None and self._goes_on_with(stored):
            self._require_recent(stored)
        self._beacon_chain, self._stored = beacon_chain, stored

    def _goes_on_with(self, stored: LightClient | None) -> bool:
        """Return True if there is a stored light client, and the settings name no other checkpoint."""
        return stored is not None and self._settings.checkpoint in (None, stored.checkpoint)

    def _accepted(self, begun: LightClient) -> LightClient:
        stored = self._stored
        if stored is not None and stored.finalized.slot >= begun.finalized.slot and self._is_recent(stored):
            logger.warning(
                "the checkpoint of slot %d is not used: this folder has proofs up to slot %d and continues "
                "there",
                begun.finalized.slot,
                stored.finalized.slot,
            )
            return stored
        self._require_recent(begun)
        return begun

    def _is_recent(self, client: LightClient) -> bool:
        try:
            client.require_recent(int(self._now()))
        except OldCheckpointError:
            return False
        return True

    def _require_recent(self, client: LightClient) -> None:
        if self._settings.accepts_old:
            return
        try:
            client.require_recent(int(self._now()))
        except OldCheckpointError as old:
            day = datetime.fromtimestamp(old.since_seconds, UTC).date()
            raise CheckpointError(
                f"the checkpoint is of {day}, {old.age_seconds // DAY} days ago, and a chain of that age can "
                "be forged; give a newer one with --checkpoint, or say --old-checkpoint"
            ) from None

    def _decoded(self, network: BeaconNetwork) -> LightClient | None:
        """Return the stored light client, or None without one."""
        with self._chain.store.read() as reader:
            self._row = meta.light_client_row(reader)
        if self._row is None:
            return None
        try:
            return LightClient.decode(network, self._row)
        except LightClientRowError as error:
            raise CheckpointError(
                f"the stored light client cannot be used: {error}; restore the folder, or begin a new one"
            ) from None

    async def _identify(self, node: BeaconNode) -> None:
        """Ask a node for its chain, until it is of the expected one, or dropped from the configuration."""
        pause = FIRST_PAUSE
        while not (node.is_identified or node.is_dropped):
            seconds = 0.0
            try:
                genesis, spec = await node.api.get(GENESIS_PATH), await node.api.get(SPEC_PATH)
                config = decode_identity(genesis, spec)
                if (other := await self._other_chain(config)) is None:
                    node.is_identified = True
                    node.why = ""
                    self._warn_of_fork(config)
                    break
                node.fail(f"it is of another chain: {other}", QUARANTINE_SECONDS)
                seconds = QUARANTINE_SECONDS
            except MalformedError as error:
                node.fail(f"malformed: {error}")
            except UpstreamError as error:
                node.fail(str(error))
                if isinstance(error, UpstreamRefusedError):
                    seconds = error.retry_after or 0.0
            await trio.sleep(max(pause * uniform(0.5, 1.5), seconds))
            pause = min(2 * pause, MAX_PAUSE)
        if node.is_identified:
            self._identified.set()

    async def _other_chain(self, config: Config) -> str | None:
        """Return the difference between a node's chain and the expected one in words, None if they are equal.

        Without a configured chain, the chain of the first node becomes the expected one.
        """
        theirs = chain_of(config)
        if self._beacon_chain is None:
            ours = chain_of({**config, **self._settings.config})
            try:
                await self._run_sync(partial(self._begin_stored, ours))
            except CheckpointError as error:
                self._refuse(error)
                return str(error)
        assert self._beacon_chain is not None, "it is that of the first node"
        return difference(self._beacon_chain, theirs)

    def _warn_of_fork(self, config: Config) -> None:
        assert self._beacon_chain is not None, "a node was identified"
        coming = coming_fork(self._beacon_chain, config)
        if coming is not None and coming != self._warned_fork:
            self._warned_fork = coming
            logger.warning(
                "the beacon chain has scheduled %s, which this release does not know: install a newer one",
                coming,
            )

    def _note(self, client: LightClient, change: LightClientChange | None) -> None:
        if change is None or change.optimistic:
            block_hash = _hash_of(client.optimistic)
            if block_hash is not None:
                self._headers.append((client.optimistic.slot, block_hash))
        if change is None or change.optimistic or change.finalized:
            changed, self.changed = self.changed, trio.Event()
            changed.set()
        if change is None or change.finalized or change.next_committee or change.period:
            self._row_due.set()

    async def _keep_row(self) -> None:
        """Store the light client after each finalized header or committee, for a start without checkpoint."""
        while True:
            await self._row_due.wait()
            self._row_due = trio.Event()
            assert self.prover is not None, "something is proved"
            assert self.prover.client is not None, "something is proved"
            row = self.prover.client.encode()
            # After a start the first row equals the stored one, which need not be written again.
            if row != self._row:
                await self._storage_retry.until_stored(partial(self._put, row))
                self._row = row

    async def _put(self, row: bytes) -> None:
        async with self._live.turn():
            await self._run_sync(
                partial(self._chain.store.write, lambda writer: meta.put_light_client_row(writer, row))
            )


def _hash_of(header: ProvedHeader | None) -> Hash32 | None:
    if header is None or header.block_hash in (None, NO_HASH):
        return None
    assert header.block_hash is not None, "it is one"
    return Hash32(header.block_hash)
