"""The proved head, by beacon nodes in memory that serve a vector's story, with and without lies."""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.conformance.test_light_client import Json, read
from tests.sync.follow.beacon.beacon_nodes import SLOT_SECONDS, Answer, BeaconWorld
from tests.vector_files import require_vectors
from wsnode.sync.follow.beacon.light_client import ProverState

pytestmark = pytest.mark.slow

Open = Callable[..., AbstractAsyncContextManager[BeaconWorld]]
START = 57


def story(fork: str = "fulu", name: str = "follow") -> Json:
    return read(require_vectors(f"beacon/story-{fork}/{name}.json"))


@asynccontextmanager
async def opened(vector: Json, *names: str, start: int = START) -> AsyncIterator[BeaconWorld]:
    async with trio.open_nursery() as nursery:
        world = BeaconWorld(vector, names or ("one",), start, nursery)
        nursery.start_soon(world.prover.run)
        yield world
        nursery.cancel_scope.cancel()


def expected_at(vector: Json, slot: int) -> tuple[int, int]:
    """Return the slots of the proved head and of the finalized block by all that is signed up to a slot."""
    told = [
        (each["object"]["data"], each["wsnode"]["outcome"])
        for each in vector["steps"]
        if each["kind"] in ("finality_update", "optimistic_update")
        and int(each["object"]["data"]["signature_slot"]) <= slot
        and enough(each["object"]["data"])
    ]
    taken = [data for data, outcome in told if outcome == "taken"]
    heads = [int(data["attested_header"]["beacon"]["slot"]) for data in taken]
    finals = [int(data["finalized_header"]["beacon"]["slot"]) for data in taken if "finalized_header" in data]
    return max(heads), max(finals)


def enough(data: Json) -> bool:
    """Return whether two thirds of 32 members have signed."""
    return int(data["sync_aggregate"]["sync_committee_bits"], 16).bit_count() >= 22


def proved_slots(world: BeaconWorld) -> tuple[int, int]:
    client = world.prover.client
    assert client is not None
    return client.optimistic.slot, client.finalized.slot


@pytest.mark.parametrize("fork", ["fulu", "gloas"])
async def test_head_and_finality_are_those_of_the_story(fork: str, autojump_clock: MockClock) -> None:
    vector = story(fork)
    async with opened(vector) as world:
        for slot in (60, 80, 96, 120, 160, 190):
            await world.until_slot(slot)
            assert proved_slots(world) == expected_at(vector, slot), slot


async def test_events_bring_heads_without_polling_again(autojump_clock: MockClock) -> None:
    vector = story()
    async with opened(vector) as world:
        world.sources["one"].has_events = True
        await world.until_slot(90)
        assert any(path.startswith("/eth/v1/events?topics=") for path in world.sources["one"].asked)
        assert proved_slots(world) == expected_at(vector, 90)


async def test_events_of_a_node_that_has_none_do_not_delay_those_of_another(
    autojump_clock: MockClock,
) -> None:
    async with opened(story(), "none", "other") as world:
        told = world.sources["other"]
        told.has_events = True
        await world.until_slot(70)
        # From now on it is asked after the other.
        world.sources["none"].lie = lambda path, answer: (404, b"")
        for slot in range(71, 74):
            told.end_events()
            before = asked_for_events(told.asked)
            await world.until_seconds(slot * SLOT_SECONDS + 3)
            assert asked_for_events(told.asked) > before, slot
            await world.until_slot(slot)


def asked_for_events(paths: list[str]) -> int:
    return sum(path.startswith("/eth/v1/events") for path in paths)


async def test_a_node_that_never_answers_does_not_delay_the_others(autojump_clock: MockClock) -> None:
    vector = story()
    async with opened(vector, "silent", "honest") as world:
        await world.until_slot(START)
        world.sources["silent"].is_silent = True
        for slot in range(START + 1, START + 6):
            await world.until_seconds((slot + 0.5) * SLOT_SECONDS)
            assert proved_slots(world) == expected_at(vector, slot), slot
        assert world.node("silent").why.startswith("timeout: ")


Lie = Callable[[str, Answer], Any]


def edited(change: Callable[[Json], object]) -> Lie:
    """Return a lie about each update."""

    def lie(path: str, answer: Answer) -> Any:
        if not path.endswith("_update") or answer[0] != 200:
            return None
        told = json.loads(answer[1])
        change(told)
        return 200, json.dumps(told).encode()

    return lie


def flip_signature(told: Json) -> None:
    signed = told["data"]["sync_aggregate"]
    signed["sync_committee_signature"] = signed["sync_committee_signature"][:-1] + "0"
    signed["sync_committee_bits"] = "0xfffffff7"


def other_hash(told: Json) -> None:
    told["data"]["attested_header"]["execution"]["block_hash"] = "0x" + "ab" * 32


LIES = {
    "signature": (edited(flip_signature), "signature: "),
    "block hash": (edited(other_hash), "execution branch: "),
    "null": (edited(lambda told: told.update(data=None)), "malformed: "),
    "404": (lambda path, answer: (404, b""), "refused: HTTP 404"),
    "500": (lambda path, answer: (500, b""), "refused: HTTP 500"),
    "page": (lambda path, answer: (200, b"<html></html>"), "malformed: "),
    "huge": (lambda path, answer: (200, b" " * (5 << 20)), "invalid: the answer has more than"),
    "cut off": (
        lambda path, answer: b"HTTP/1.1 200 OK\r\ncontent-length: 90\r\n\r\n{",
        "invalid: the answer breaks HTTP",
    ),
    "no HTTP": (lambda path, answer: b"SSH-2.0\r\n\r\n", "invalid: the answer breaks HTTP"),
}


@pytest.mark.parametrize("name", LIES)
async def test_a_node_that_lies_is_named_and_another_proves_the_head(
    name: str, autojump_clock: MockClock
) -> None:
    vector = story()
    lie, why = LIES[name]
    async with opened(vector, "liar", "honest") as world:
        world.sources["liar"].lie = lie
        await world.until_slot(70)
        assert proved_slots(world) == expected_at(vector, 70)
        assert re.match(re.escape(why), world.node("liar").why), world.node("liar").why
        assert world.node("honest").why == ""


async def test_nothing_is_proved_by_liars_alone(autojump_clock: MockClock) -> None:
    async with opened(story(), "one", "other") as world:
        # By then the next committee is known, so that no update of a period is asked for.
        await world.until_slot(64)
        proved = world.prover.proved
        for source in world.sources.values():
            source.lie = edited(flip_signature)
        await world.until_slot(80)
        assert world.prover.proved == proved
        assert world.prover.refused["signature"] >= 2
        found = world.prover.status()
        assert found.state is ProverState.LATE
        assert found.reason is not None


def told_in(vector: Json, kind: str, slot: int) -> Json:
    """Return the update of a kind that is signed in a slot."""
    told = (each["object"] for each in vector["steps"] if each["kind"] == kind)
    return next(each for each in told if int(each["data"]["signature_slot"]) == slot)


def always(kind: str, update: Json) -> Lie:
    """Return a lie that has one update for the newest one of its kind."""
    return lambda path, answer: (200, json.dumps(update).encode()) if path.endswith(kind) else None


async def test_a_late_head_says_that_no_node_gives_an_update(autojump_clock: MockClock) -> None:
    async with opened(story()) as world:
        await world.until_slot(64)
        world.sources["one"].lie = lambda path, answer: (500, b"") if path.endswith("_update") else None
        await world.until_slot(80)
        found = world.prover.status()
        assert (found.state, found.reason) == (
            ProverState.LATE,
            "the proved head is 17 slots behind: no beacon URL gives an update",
        )


async def test_a_late_head_says_that_too_few_have_signed(autojump_clock: MockClock) -> None:
    vector = story()
    async with opened(vector) as world:
        await world.until_slot(98)
        few = {kind: told_in(vector, kind, 100) for kind in ("finality_update", "optimistic_update")}
        world.sources["one"].lie = lambda path, answer: next(
            ((200, json.dumps(few[kind]).encode()) for kind in few if path.endswith(kind)), None
        )
        await world.until_slot(110)
        found = world.prover.status()
        signed = "21 of 32 have signed the newest update, which is less than two thirds"
        assert (found.state, found.reason) == (
            ProverState.LATE,
            f"the proved head is 13 slots behind: {signed}",
        )


async def test_a_clock_that_is_behind_says_by_how_much(autojump_clock: MockClock) -> None:
    vector = story()
    async with opened(vector, "one", "other") as world:
        await world.until_slot(64)
        for source in world.sources.values():
            source.lie = always("optimistic_update", told_in(vector, "optimistic_update", 131))
        await world.until_slot(75)
        found = world.prover.status()
        seconds = (131 - 75) * SLOT_SECONDS
        assert (found.state, found.reason) == (
            ProverState.CLOCK,
            f"this machine's clock is {seconds} s behind that of all beacon URLs, or more",
        )


async def test_an_update_of_a_period_that_is_not_to_be_had_yet_is_asked_for_once_an_epoch(
    autojump_clock: MockClock,
) -> None:
    async with opened(story(), start=41) as world:
        world.sources["one"].lie = lambda path, answer: (200, b"[]") if "/updates?" in path else None
        await world.until_slot(63)
        # At once, and in each of the two epochs after.
        assert sum("/updates?" in path for path in world.sources["one"].asked) == 3


async def test_a_checkpoint_that_no_node_has_is_said(autojump_clock: MockClock) -> None:
    async with opened(story()) as world:
        world.sources["one"].lie = lambda path, answer: (404, b"") if "bootstrap" in path else None
        await world.until_slot(60)
        found = world.prover.status()
        assert found.state is ProverState.STARTING
        assert found.reason is not None
        checkpoint = world.vector["checkpoint"]
        assert found.reason.startswith(f"no beacon URL has {checkpoint}: with --beacon, --checkpoint is a ")


async def test_a_light_client_that_is_periods_behind_catches_up(autojump_clock: MockClock) -> None:
    vector = story()
    async with opened(vector, start=196) as world:
        await world.until_slot(197)
        assert proved_slots(world) == expected_at(vector, 197)
        assert world.prover.members()["state"] == "proving"
