"""Prover of the head: requests light-client updates from beacon nodes, and verifies them.

An update proves itself, so the first valid one counts and no nodes have to agree. A node with an update that
breaks a rule is quarantined for a minute; the log names the rule.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import aclosing
from functools import partial
from itertools import count
from random import randrange, uniform
from typing import Any, Final, Protocol, TypeVar

import trio

from wsnode.sync.follow.beacon.beacon_node import FIRST_PAUSE, MAX_PAUSE, BeaconNode
from wsnode.sync.follow.beacon.light_client import (
    MISSED_SLOTS,
    BeaconNetwork,
    LightClient,
    LightClientChange,
    PeriodRange,
    ProvedHeader,
    ProverState,
    ProverStatus,
    RefusedError,
    periods_behind,
    split_updates,
    status_of,
    wanted_periods,
)
from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError

QUARANTINE_SECONDS: Final = 60.0
TOLERANCE_MILLISECONDS: Final = 500
"""Maximum number of milliseconds by which this machine's clock may be behind the signers' clocks."""
NOT_FOUND: Final = 404
LISTENED: Final = 2
"""Number of beacon nodes with an open stream of events."""
SILENT_SLOTS: Final = 3
POLLED_AT: Final = (1 / 3, 2 / 3)
"""Times within a slot at which the newest updates are requested, as parts of the slot."""
JITTER_SECONDS: Final = 1.0
HEDGED_AFTER: Final = 1 / 12
"""Part of a slot after which the next node is asked too, if a node has not answered."""
IDLE_SECONDS: Final = 1.0
"""Seconds between two searches for a node with events."""
POLLED: Final = ("finality_update", "optimistic_update")
HARMLESS: Final = frozenset({"future", "relevant", "period"})
"""Rules that an honest node may break if a clock is wrong or an answer is late."""

T = TypeVar("T")

wall_clock: Final[Callable[[], float]] = time.time
"""Clock in seconds since 1970, for slot numbers."""

logger = logging.getLogger("wsnode.follow")


class RunSync(Protocol):
    """Function that runs `work` of some milliseconds outside of the event loop, as `trio.to_thread.run_sync`
    does.
    """

    async def __call__(self, work: Callable[[], T], /) -> T: ...


class HeadProver:
    """Task that keeps a light client at the head of the beacon chain."""

    def __init__(
        self,
        network: BeaconNetwork,
        nodes: Sequence[BeaconNode],
        checkpoint: bytes,
        client: LightClient | None = None,
        *,
        slot_seconds: float,
        committee_size: int,
        now: Callable[[], float] = wall_clock,
        run_sync: RunSync = trio.to_thread.run_sync,
    ) -> None:
        """Start with the stored `client` or, without one, with the bootstrap of `checkpoint`.

        `run_sync` runs verification, in a thread unless given.
        """
        self.network = network
        self.nodes = nodes
        self.checkpoint = checkpoint
        self.client = client
        self.refused = Counter[str]()
        """Number of refused answers by the rule that they broke."""
        self.equivocations = 0
        self.on_proved: list[Callable[[LightClient, LightClientChange | None], None]] = []
        """Listeners called with the light client and its last change; at the beginning the change is None."""
        self.accept: Callable[[LightClient], LightClient] = lambda begun: begun
        """Function from the light client of the checkpoint to the one to start with; its errors end `run`."""
        self.verify_seconds = 0.0
        """Duration of the last verification of an update, in seconds."""
        self.forked: str | None = None
        """Message that the committee has signed two finalized blocks of one slot, or None."""
        self._slot_seconds = slot_seconds
        self._committee_size = committee_size
        self._now = now
        self._run_sync = run_sync
        self._taking = trio.Lock()
        self._is_catching_up = False
        self._told_equivocation: tuple[int, bytes] | None = None
        self._told_slot: int | None = None
        """Slot of the clock at the last valid update from a node."""
        self._told_signers = 0
        """Number of members who signed the last valid update."""
        self._periods_from = 0
        """Slot of the clock before which no update of a period is requested, after no node had it."""

    @property
    def clock_slot(self) -> int:
        return self.network.slot_at(int(self._now() * 1000))

    @property
    def proved(self) -> ProvedHeader | None:
        """Return the newest proved header, or None before the light client has begun."""
        return None if self.client is None else self.client.optimistic

    @property
    def finalized(self) -> ProvedHeader | None:
        return None if self.client is None else self.client.finalized

    def status(self) -> ProverStatus:
        """Return the prover's state, with the reason if this node is not ready in it."""
        if self.client is None:
            checkpoint = f"0x{self.checkpoint.hex()}"
            starting = f"no beacon URL has given the checkpoint {checkpoint}"
            if all(node.lacks_checkpoint for node in self.nodes):
                what = "with --beacon, --checkpoint is a beacon block root, of the first block of an epoch"
                starting = f"no beacon URL has {checkpoint}: {what}"
            return ProverStatus(ProverState.STARTING, starting)
        if self.forked is not None:
            return ProverStatus(ProverState.STOPPED, self.forked)
        found = status_of(self.client, self.network, self.clock_slot, self._now())
        if found.state is ProverState.PROVING:
            return found
        # A single node may lie about a fork or the time. While heads are proved, there is no such fork and
        # the clock is right, so what nodes report is used only below.
        unsupported = [node.unsupported for node in self.nodes if node.unsupported is not None]
        if unsupported:
            return ProverStatus(ProverState.UNSUPPORTED, unsupported[0])
        ahead = [node.ahead_slots for node in self.nodes if node.ahead_slots is not None]
        if self.nodes and len(ahead) == len(self.nodes):
            seconds = min(ahead) * self._slot_seconds
            behind = f"this machine's clock is {seconds:g} s behind that of all beacon URLs, or more"
            return ProverStatus(ProverState.CLOCK, behind)
        if found.state is ProverState.LATE and found.reason is not None:
            return ProverStatus(ProverState.LATE, f"{found.reason}: {self._why_late()}")
        return found

    def _why_late(self) -> str:
        if self._told_slot is None or self.clock_slot - self._told_slot > MISSED_SLOTS:
            return "no beacon URL gives an update"
        signed = f"{self._told_signers} of {self._committee_size} have signed the newest update"
        if self._told_signers * 3 < self._committee_size * 2:
            return f"{signed}, which is less than two thirds"
        return f"{signed}, and no beacon URL has a newer one"

    async def run(self) -> None:
        """Begin with the checkpoint unless there is a stored light client, and prove heads, for ever."""
        await self._begin()
        assert self.client is not None, "it has begun"
        for listener in self.on_proved:
            listener(self.client, None)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._poll, nursery)
            for _ in range(LISTENED):
                nursery.start_soon(self._listen)

    async def _begin(self) -> None:
        pause = FIRST_PAUSE
        while self.client is None:
            for node in self._by_cost():
                if await self._bootstrapped(node):
                    return
            await trio.sleep(pause * uniform(0.5, 1.5))
            pause = min(2 * pause, MAX_PAUSE)

    async def _bootstrapped(self, node: BeaconNode) -> bool:
        try:
            answer = await node.api.bootstrap(self.checkpoint)
            begun = await self._run_sync(
                partial(LightClient.bootstrap, self.network, self.checkpoint, answer)
            )
        except UpstreamError as error:
            node.lacks_checkpoint = isinstance(error, UpstreamRefusedError) and error.code == NOT_FOUND
            self._fail(node, error)
        except RefusedError as refused:
            self._refuse(node, refused)
        else:
            self.client = self.accept(begun)
            logger.info("the light client begins at slot %d", self.client.finalized.slot)
        return self.client is not None

    def _by_cost(self) -> list[BeaconNode]:
        usable = [node for node in self.nodes if node.is_usable]
        return sorted(usable, key=lambda node: node.api.score.cost)

    async def _poll(self, nursery: trio.Nursery) -> None:
        """Request the newest updates in each slot, and the updates of missing committee periods."""
        while True:
            if self._is_behind():
                # Without the committee of the clock's period no update of that period can be verified.
                await self._catch_up()
            elif not self._is_catching_up and self.clock_slot >= self._periods_from:
                nursery.start_soon(self._catch_up)
            await self._ask_in_turn(nursery)
            await trio.sleep(self._until_next_poll())

    async def _ask_in_turn(self, nursery: trio.Nursery) -> None:
        """Ask nodes one after another for the newest updates, until the head is proved up to the slot before
        the clock's.

        Each node is asked at least once an epoch, to find stale and false nodes before they are needed.
        """
        epoch, is_enough = self.network.epoch(self.clock_slot), False
        for node in self._by_cost():
            if node.is_asked or (is_enough and node.asked_epoch == epoch):
                continue
            node.asked_epoch = epoch
            answered = trio.Event()
            nursery.start_soon(self._ask_newest, node, answered)
            with trio.move_on_after(HEDGED_AFTER * self._slot_seconds):
                await answered.wait()
            is_enough = is_enough or self._is_new()

    def _is_new(self) -> bool:
        return self.proved is not None and self.clock_slot - self.proved.slot <= 1

    def _until_next_poll(self) -> float:
        begin = self.network.slot_start(self.clock_slot)
        passed = self._now() - begin
        jitter = uniform(0, min(JITTER_SECONDS, self._slot_seconds / 12))
        for part in (*POLLED_AT, 1 + POLLED_AT[0]):
            if (left := part * self._slot_seconds - passed) > 0:
                return left + jitter
        return self._slot_seconds

    async def _ask_newest(self, node: BeaconNode, answered: trio.Event) -> None:
        """Ask a node for both newest updates; set `answered` at the end or at a failure."""
        node.is_asked = True
        try:
            for kind in POLLED:
                await self._ask_for(node, kind)
                if not node.is_usable:
                    return
        except UpstreamError as error:
            self._fail(node, error)
        finally:
            node.is_asked = False
            answered.set()

    async def _ask_for(self, node: BeaconNode, kind: str) -> None:
        try:
            answer = await node.api.update(kind)
        except UpstreamRefusedError as error:
            # Without finality a node has no finality update but still one of the head, so the other kind is
            # requested nevertheless.
            self._fail(node, error)
        else:
            await self._take(node, kind, answer)

    def _is_behind(self) -> bool:
        assert self.client is not None, "it has begun"
        return periods_behind(self.client, self.network, self.clock_slot) > 0

    def _wanted_periods(self) -> PeriodRange | None:
        assert self.client is not None, "it has begun"
        return wanted_periods(self.client, self.network, self.clock_slot)

    async def _catch_up(self) -> None:
        """Request updates of periods until the committee of the period after the clock's is known.

        In the first epochs of a period there is no such update: it is requested again in each epoch, in a
        random slot, so that light clients do not ask simultaneously.
        """
        self._is_catching_up = True
        try:
            while (wanted := self._wanted_periods()) is not None:
                for node in self._by_cost():
                    await self._take_periods(node, wanted.first, wanted.count)
                    if self._wanted_periods() != wanted:
                        break
                else:
                    self._periods_from = self._slot_of_next_epoch()
                    return
        finally:
            self._is_catching_up = False

    def _slot_of_next_epoch(self) -> int:
        """Return a random slot of the epoch after the clock's."""
        slots = next(slot for slot in count(1) if self.network.epoch(slot) > 0)
        return (self.network.epoch(self.clock_slot) + 1) * slots + randrange(slots)

    async def _take_periods(self, node: BeaconNode, first: int, count: int) -> None:
        try:
            updates = split_updates(await node.api.updates(first, count))
        except UpstreamError as error:
            self._fail(node, error)
            return
        except RefusedError as refused:
            self._refuse(node, refused)
            return
        if not updates:
            node.fail(f"it has no update of period {first}")
        for update in updates:
            if not await self._take(node, "update", update):
                return

    async def _listen(self) -> None:
        """Take events of the best node without an open stream, one node after another, for ever."""
        while True:
            node = next((each for each in self._by_cost() if each.has_events), None)
            if node is None:
                await trio.sleep(IDLE_SECONDS * uniform(0.5, 1.0))
                continue
            node.is_listened = True
            try:
                await self._take_events(node)
            except UpstreamError as error:
                # Polling goes on, so the end of an event stream does not count as a failure of the node.
                logger.debug("the event stream of %s ended, polling goes on: %s", node, error)
            finally:
                node.is_listened = False
                node.ended()

    async def _take_events(self, node: BeaconNode) -> None:
        async with aclosing(node.api.events(SILENT_SLOTS * self._slot_seconds)) as events:
            async for kind, answer in events:
                node.told()
                await self._take(node, kind, answer)
                if not node.is_usable:
                    return

    async def _take(self, node: BeaconNode, kind: str, answer: bytes) -> bool:
        """Verify an update of a node and apply it; return True if it is valid."""
        async with self._taking:
            assert self.client is not None, "it has begun"
            slot = self.network.slot_at(int(self._now() * 1000) + TOLERANCE_MILLISECONDS)
            try:
                # Verifying takes milliseconds of pairings, too long for the event loop.
                began = trio.current_time()
                taken, change = await self._run_sync(partial(self.client.take, kind, answer, slot))
                self.verify_seconds = trio.current_time() - began
            except RefusedError as refused:
                self._refuse(node, refused)
                return False
            node.ahead_slots, node.unsupported, node.why = None, None, ""
            self._told_slot, self._told_signers = self.clock_slot, change.signers
            if change.optimistic or change.finalized or change.next_committee:
                self.client = taken
            if change.optimistic:
                node.attested_slot = taken.optimistic.slot
            self._note(change)
        if change.next_committee:
            # The keys of the next committee are decoded now, ahead of the first update that it signs.
            await self._run_sync(taken.prepare)
        return True

    def _note(self, change: LightClientChange) -> None:
        assert self.client is not None, "it has begun"
        if change.equivocation is not None:
            slot, kept, other, is_final = change.equivocation
            if self._told_equivocation != (slot, other):
                self._told_equivocation = slot, other
                self.equivocations += 1
                which = "finalized blocks" if is_final else "blocks"
                roots = f"0x{kept.hex()}, 0x{other.hex()}"
                said = f"the committee has signed two {which} of slot {slot}: {roots}"
                logger.error("%s", said)
                if is_final:
                    self.forked = said
        for listener in self.on_proved:
            listener(self.client, change)

    def _refuse(self, node: BeaconNode, refused: RefusedError) -> None:
        """Note a broken rule; quarantine the node if an honest node never breaks it."""
        self.refused[refused.rule] += 1
        signed = refused.slot if refused.rule == "future" else None
        node.ahead_slots = None if signed is None else signed - self.clock_slot
        if refused.rule in HARMLESS:
            return
        if refused.rule == "fork":
            if node.unsupported is None:
                logger.error("beacon %s: %s", node, refused)
            node.unsupported = str(refused)
            return
        node.fail(str(refused), QUARANTINE_SECONDS)

    def _fail(self, node: BeaconNode, error: UpstreamError) -> None:
        seconds = error.retry_after if isinstance(error, UpstreamRefusedError) else None
        node.fail(str(error), seconds or 0.0)

    def members(self) -> dict[str, Any]:
        """Return the light client's members of `wsnode_status`."""
        client = self.client
        known: dict[str, Any] = {}
        if client is not None:
            known = {
                "proved": told(client.optimistic),
                "finalized": told(client.finalized),
                "participation": client.signers,
                "period": client.period,
                "nextCommitteeKnown": client.next_committee_known,
            }
        return {
            "state": self.status().state.value,
            "checkpoint": f"0x{self.checkpoint.hex()}",
            "clockSlot": self.clock_slot,
            **known,
            "urls": [node.members(self.clock_slot) for node in self.nodes],
        }


def told(header: ProvedHeader) -> dict[str, Any]:
    """Return a header as in `wsnode_status`: slot, beacon block root, and execution block hash or None."""
    block_hash = None if header.block_hash is None else f"0x{header.block_hash.hex()}"
    return {"slot": header.slot, "root": f"0x{header.root.hex()}", "hash": block_hash}
