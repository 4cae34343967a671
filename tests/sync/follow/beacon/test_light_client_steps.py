"""What a light client asks next and where it stands, by its store and the clock."""

import pytest

from tests.conformance.test_light_client import Json, begin, network_of, read, take
from tests.vector_files import CHECKOUT
from wsnode.sync.follow.beacon.light_client import (
    LightClient,
    PeriodRange,
    ProverState,
    status_of,
    wanted_periods,
)

VECTOR: Json = read(CHECKOUT / "tests/vectors/light-client/fork.json")
NETWORK = network_of(VECTOR)
PERIOD = 64
"""Slots of a period."""


def after(steps: int) -> LightClient:
    client = begin(VECTOR)
    for step in VECTOR["steps"][:steps]:
        client, _ = take(client, step)
    return client


NEW, KNOWING = after(0), after(1)


@pytest.mark.parametrize(
    ("client", "clock_slot", "wanted"),
    [
        pytest.param(NEW, 20, PeriodRange(0, 1), id="the next committee is not known"),
        pytest.param(NEW, 3 * PERIOD, PeriodRange(0, 3), id="nor are those after it"),
        pytest.param(NEW, 40 * PERIOD, PeriodRange(0, 16), id="sixteen at once"),
        pytest.param(KNOWING, 62, None, id="both are known"),
        pytest.param(KNOWING, PERIOD, None, id="the next one signs"),
        pytest.param(KNOWING, 2 * PERIOD, PeriodRange(1, 2), id="the one after it signs"),
    ],
)
def test_periods_are_wanted_up_to_the_clocks(
    client: LightClient, clock_slot: int, wanted: PeriodRange | None
) -> None:
    assert wanted_periods(client, NETWORK, clock_slot) == wanted


@pytest.mark.parametrize(
    ("slots", "state", "reason"),
    [
        (0, ProverState.PROVING, None),
        (4, ProverState.PROVING, None),
        (5, ProverState.LATE, None),
        (8, ProverState.LATE, None),
        (9, ProverState.LATE, "the proved head is 9 slots behind"),
        (200, ProverState.CATCHING_UP, "the proved head is 4 periods behind"),
    ],
)
def test_a_state_says_how_far_behind_the_clock_the_proved_head_is(
    slots: int, state: ProverState, reason: str | None
) -> None:
    # The head is slot 61 and slot 40 is final; the committees known sign up to slot 127.
    clock = KNOWING.optimistic.slot + slots
    found = status_of(KNOWING, NETWORK, clock, NETWORK.slot_start(clock))
    assert (found.state, found.reason) == (state, reason)


def test_without_finality_the_end_of_the_committees_is_announced() -> None:
    # A head of slot 95 above the finalized slot 56; the last slot that is signed is 127.
    client = after(3)
    clock = client.optimistic.slot + 2
    found = status_of(client, NETWORK, clock, NETWORK.slot_start(clock))
    assert found.state is ProverState.NO_FINALITY
    left = NETWORK.slot_start(128) - NETWORK.slot_start(clock)
    assert found.reason == f"the committees that are known end in {left} s, and nothing is final after that"
    assert status_of(client, NETWORK, clock, NETWORK.slot_start(128) - 3_601).reason is None
