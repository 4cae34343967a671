"""What a light client asks next, and where it stands: pure decisions by its store and the clock."""

from enum import Enum
from typing import Final

import msgspec

from wsnode.sync.follow.beacon.light_client import BeaconNetwork, LightClient

PERIODS_AT_ONCE: Final = 16
MISSED_SLOTS: Final = 4
"""Slots without a proved block that are normal."""
LATE_SLOTS: Final = 8
"""Slots without a proved block after which the node should not be asked."""
FINAL_EPOCHS: Final = 4
"""How far the finalized block may be below the clock, in epochs."""
LAST_SECONDS: Final = 3600
"""Before the end of the known committees, in which a node without finality should not be asked."""


class PeriodRange(msgspec.Struct, frozen=True):
    """Committee periods whose updates are wanted."""

    first: int
    count: int


def wanted_periods(client: LightClient, network: BeaconNetwork, clock_slot: int) -> PeriodRange | None:
    """Return the periods whose updates lead to the committees of the clock and after, None if they are known.

    The update of a period brings the committee of the one after it.
    """
    known, now = client.period, network.period(clock_slot)
    if not client.next_committee_known:
        return PeriodRange(known, min(max(now - known, 1), PERIODS_AT_ONCE))
    # The next committee is known, so the store moves on by the finality of its period.
    return PeriodRange(known + 1, min(now - known, PERIODS_AT_ONCE)) if now > known + 1 else None


def periods_behind(client: LightClient, network: BeaconNetwork, clock_slot: int) -> int:
    """Return how many periods the known committees are behind the clock's, 0 if its own is known."""
    periods = network.period(clock_slot) - client.period
    return periods if periods > (1 if client.next_committee_known else 0) else 0


class ProverState(Enum):
    """Where the light client stands."""

    STARTING = "starting"
    CATCHING_UP = "catching up"
    PROVING = "proving"
    LATE = "late"
    NO_FINALITY = "no finality"
    CLOCK = "clock"
    UNSUPPORTED = "unsupported"
    WITHHELD = "withheld"
    OLD_CHECKPOINT = "old checkpoint"
    STOPPED = "stopped"


class ProverStatus(msgspec.Struct, frozen=True):
    """A state, and why the node should not be asked in it, None if it may be."""

    state: ProverState
    reason: str | None = None


def status_of(
    client: LightClient, network: BeaconNetwork, clock_slot: int, clock_seconds: float
) -> ProverStatus:
    """Return where a light client stands at a time."""
    if periods := periods_behind(client, network, clock_slot):
        return ProverStatus(ProverState.CATCHING_UP, f"the proved head is {periods} periods behind")
    slots = clock_slot - client.optimistic.slot
    if slots > MISSED_SLOTS:
        late = f"the proved head is {slots} slots behind"
        return ProverStatus(ProverState.LATE, late if slots > LATE_SLOTS else None)
    if network.epoch(clock_slot) - network.epoch(client.finalized.slot) > FINAL_EPOCHS:
        left = _end_of_committees(client, network) - clock_seconds
        ending = f"the committees that are known end in {left:.0f} s, and nothing is final after that"
        return ProverStatus(ProverState.NO_FINALITY, ending if left < LAST_SECONDS else None)
    return ProverStatus(ProverState.PROVING)


def _end_of_committees(client: LightClient, network: BeaconNetwork) -> int:
    """Return the time at which the last known committee signs no more, in seconds since 1970."""
    last = client.period + (1 if client.next_committee_known else 0)
    slot, step = client.finalized.slot, 1
    # By doubling steps and halves: the network says the period of a slot, not its first slot.
    while network.period(slot + step) <= last:
        step *= 2
    while step:
        if network.period(slot + step) <= last:
            slot += step
        step //= 2
    return network.slot_start(slot + 1)
