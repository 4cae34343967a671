"""Light client of the engine, and decisions by its store and the clock: periods to request, and its state."""

from enum import Enum
from typing import Final

import msgspec

from wsnode._native.beacon import (
    BeaconNetwork,
    LightClient,
    LightClientChange,
    LightClientRowError,
    OldCheckpointError,
    ProvedHeader,
    RefusedError,
    split_updates,
)

__all__ = [
    "BeaconNetwork",
    "LightClient",
    "LightClientChange",
    "LightClientRowError",
    "OldCheckpointError",
    "ProvedHeader",
    "RefusedError",
    "split_updates",
]


PERIODS_AT_ONCE: Final = 16
MISSED_SLOTS: Final = 4
"""Maximum number of slots without a proved block that are normal."""
LATE_SLOTS: Final = 8
"""Maximum number of slots without a proved block while the node is ready for requests."""
FINAL_EPOCHS: Final = 4
"""Maximum number of epochs between the finalized block and the clock that are normal."""
LAST_SECONDS: Final = 3600
"""Seconds before the end of the last known committee in which a node without finality is not ready."""


class PeriodRange(msgspec.Struct, frozen=True):
    """Committee periods to request updates of: `count` periods from `first` on."""

    first: int
    count: int


def wanted_periods(client: LightClient, network: BeaconNetwork, clock_slot: int) -> PeriodRange | None:
    """Return the periods to request updates of, at most 16, or None if the committees of the clock's period
    and of the next are known.

    The update of a period brings the committee of the next period.
    """
    known, now = client.period, network.period(clock_slot)
    if not client.next_committee_known:
        return PeriodRange(known, min(max(now - known, 1), PERIODS_AT_ONCE))
    # The next committee is known, so the light client moves on by a finalized header of that committee's
    # period.
    return PeriodRange(known + 1, min(now - known, PERIODS_AT_ONCE)) if now > known + 1 else None


def periods_behind(client: LightClient, network: BeaconNetwork, clock_slot: int) -> int:
    """Return the periods from the current committee to the clock's; 0 if the clock's committee is known."""
    periods = network.period(clock_slot) - client.period
    return periods if periods > (1 if client.next_committee_known else 0) else 0


class ProverState(Enum):
    """State of the light client."""

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
    """State of the light client, and the reason why this node is not ready in it; None if it is ready."""

    state: ProverState
    reason: str | None = None


def status_of(
    client: LightClient, network: BeaconNetwork, clock_slot: int, clock_seconds: float
) -> ProverStatus:
    """Return the state of a light client in a slot of the clock; `clock_seconds` are since 1970."""
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
    """Return the end of the last known committee's period, in seconds since 1970."""
    last = client.period + (1 if client.next_committee_known else 0)
    slot, step = client.finalized.slot, 1
    # The last slot of the period is found by doubling steps and then halving them: BeaconNetwork gives the
    # period of a slot, but not the first slot of a period.
    while network.period(slot + step) <= last:
        step *= 2
    while step:
        if network.period(slot + step) <= last:
            slot += step
        step //= 2
    return network.slot_start(slot + 1)
