"""The checker of histories finds each kind of violation, and none in what keeps all promises."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests.cluster.faults.histories import (
    KEPT_SECONDS,
    LOST_SECONDS,
    Answer,
    Disturbance,
    Entry,
    Failed,
    Fates,
    Header,
    Held,
    History,
    Log,
    Mark,
    Place,
    Reorganised,
    Sent,
    takeovers,
    violations,
)

GENESIS: Mark = (0, "g")
FIRST: Mark = (1, "a")
OLD: Mark = (2, "b")
NEW: Mark = (2, "c")
ADDED: Place = (*FIRST, 0)
REMOVED: Place = (*OLD, 0)
KEPT: Place = (*NEW, 0)
LOGS = [Log(ADDED), Log(REMOVED), Log(REMOVED, is_removed=True), Log(KEPT)]
HEADS: list[Header | Reorganised | Failed] = [
    Header(GENESIS, ""),
    Header(FIRST, "g"),
    Header(OLD, "a"),
    Reorganised(FIRST, [OLD]),
    Header(NEW, "a"),
]
ENTRIES = [
    Entry((5, 1), None, "x", "a"),
    Entry((5, 2), (5, 1), "y", "b"),
    Entry((7, 1), (5, 2), "z", "c"),
]
STAND = {"head": "2 c", "root": "r"}
GOOD = History(
    logs={"client": LOGS},
    heads={"client": HEADS},
    answers={"client": [Answer(OLD, 1, is_known=True), Answer(NEW, 2, is_known=True)]},
    sent=[Sent(name, 1.0) for name in ("mined", "pending", "dropped", "refused")],
    fates=Fates(*(frozenset({name}) for name in ("mined", "pending", "dropped", "refused"))),
    kills=[100.0],
    replica_kills=[110.0],
    journals=[ENTRIES, ENTRIES[1:], []],
    held=[Held(1.0, "first", 5), Held(20.0, "first", 5), Held(27.0, "second", 7)],
    disturbances=[Disturbance(("first",), 20.5, 30.0, is_away=True)],
    reliances=frozenset({"first", "second", "redis", "source"}),
    stands={"leader": STAND, "one": STAND},
    canonical=[GENESIS, FIRST, NEW],
    canonical_logs=[ADDED, KEPT],
    had=frozenset({"g", "a", "b", "c"}),
)


def changed(**members: Any) -> list[str]:
    return violations(msgspec.structs.replace(GOOD, **members))


def test_nothing_is_found_where_all_promises_are_kept() -> None:
    assert violations(GOOD) == []


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (LOGS[:-1], "1 missing, 0 of no block"),
        ([*LOGS[:2], LOGS[3]], "0 missing, 1 of no block"),
        ([Log(KEPT), Log(ADDED)], "its logs are not the chain's"),
        ([*LOGS, Log(KEPT)], "was added twice"),
        ([LOGS[0], *LOGS], "was added twice"),
        ([*LOGS[:2], Log(ADDED, is_removed=True), LOGS[2], Log(ADDED), LOGS[3]], "before a later one"),
        ([LOGS[0], LOGS[2], LOGS[3]], "removed, but not there"),
        ([*LOGS[:3], LOGS[2], LOGS[3]], "removed, but not there"),
        ([*LOGS, Failed("the block is not known any more")], "not known any more"),
        ([], "2 missing"),
    ],
)
def test_logs_that_are_lost_doubled_or_removed_wrongly_are_found(
    told: Sequence[Log | Failed], reason: str
) -> None:
    assert any(reason in line for line in changed(logs={"client": told}))


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ([*HEADS[:3], HEADS[4]], "no reorganisation was told"),
        ([HEADS[0], HEADS[4]], "no reorganisation was told"),
        ([*HEADS, HEADS[4]], "no reorganisation was told"),
        ([*HEADS[:3], Reorganised((1, "z"), [OLD]), HEADS[4]], "which was not told"),
        ([*HEADS[:3], Reorganised(FIRST, []), HEADS[4]], "was dropped, and not named"),
        (HEADS[:-1], "its chain ends with"),
        (HEADS[:3], "its chain ends with"),
        ([], "its chain ends with"),
        ([*HEADS, Failed("a block could not be published")], "could not be published"),
    ],
)
def test_heads_that_jump_or_end_elsewhere_are_found(
    told: Sequence[Header | Reorganised | Failed], reason: str
) -> None:
    assert any(reason in line for line in changed(heads={"client": told}))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(NEW, 1, is_known=True), "was the head of the answer"),
        (Answer(FIRST, 0, is_known=True), "was the head of the answer"),
        (Answer(OLD, 2, is_known=False), "unknown to the node"),
    ],
)
def test_answers_below_what_was_demanded_are_found(answer: Answer, reason: str) -> None:
    assert any(reason in line for line in changed(answers={"client": [answer]}))


def test_acknowledged_transactions_that_are_nowhere_are_found() -> None:
    assert "is nowhere" in "".join(changed(sent=[Sent("gone", 1.0)]))
    assert "is nowhere" in "".join(changed(fates=Fates()))
    # Only kills of the writer and of a replica, while no block had to have it, explain that.
    assert changed(sent=[Sent("gone", 99.0)]) == []
    assert changed(sent=[Sent("gone", 101.0)]) != []
    assert changed(sent=[Sent("gone", 99.0 - LOST_SECONDS)]) != []
    assert changed(sent=[Sent("gone", 99.0)], replica_kills=[]) != []
    assert changed(sent=[Sent("gone", 99.0)], replica_kills=[98.0, 100.0 + KEPT_SECONDS]) != []


@pytest.mark.parametrize(
    ("journals", "reason"),
    [
        ([ENTRIES, [Entry((5, 2), (5, 1), "other", "b")]], "two records have the id (5, 2)"),
        ([[ENTRIES[0], ENTRIES[2]]], "follows (5, 2), and comes after (5, 1)"),
        ([[ENTRIES[2], Entry((6, 1), (7, 1), "w", "c")]], "record (6, 1) comes after (7, 1)"),
    ],
)
def test_records_of_one_id_or_out_of_order_are_found(
    journals: Sequence[Sequence[Entry]], reason: str
) -> None:
    assert any(reason in line for line in changed(journals=journals))


def test_an_epoch_that_comes_after_a_higher_one_is_found() -> None:
    held = [Held(1.0, "first", 5), Held(2.0, "first", 7), Held(3.0, "first", 6)]
    assert changed(held=held, disturbances=[]) == ["epoch 6 came after 7 at first"]
    # One that was stopped says what it knew, until it hears of the other.
    other = [Held(1.0, "first", 5), Held(2.0, "second", 7), Held(3.0, "first", 5)]
    assert changed(held=other, disturbances=[]) == []


def test_an_epoch_that_two_nodes_have_is_found() -> None:
    held = [Held(1.0, "first", 5), Held(2.0, "second", 5)]
    assert changed(held=held, disturbances=[]) == ["epoch 5 was given to first and to second"]


@pytest.mark.parametrize(
    "after",
    [[], [Held(27.0, "first", 7)], [Held(40.0, "second", 7)]],
    ids=["nobody has it", "the one that was away has it", "the other has it much later"],
)
def test_a_lease_that_does_not_move_from_a_node_that_is_away_is_found(after: Sequence[Held]) -> None:
    kept = "first was away for 9.50 s from 20.50 s on, and kept the lease"
    assert changed(held=[*GOOD.held[:2], *after]) == [kept]


@pytest.mark.parametrize(
    "other",
    [
        Disturbance(("second",), 14.0, 16.0),
        Disturbance(("one", "redis"), 22.0, 23.0),
        Disturbance(("source",), 27.0, 29.0),
    ],
    ids=["the other", "Redis", "the chain"],
)
def test_a_lease_may_stay_where_something_else_is_away(other: Disturbance) -> None:
    assert changed(held=GOOD.held[:2], disturbances=[*GOOD.disturbances, other]) == []


@pytest.mark.parametrize(
    "fault",
    [
        Disturbance(("first",), 20.5, 30.0),
        Disturbance(("first",), 20.5, 26.0, is_away=True),
        Disturbance(("second",), 20.5, 30.0, is_away=True),
        Disturbance(("first",), 24.0, 34.0, is_away=True),
    ],
    ids=["it could write", "not for long", "it had no lease", "it had none lately"],
)
def test_a_lease_moves_only_from_a_node_that_has_it_and_is_away_for_long(fault: Disturbance) -> None:
    assert changed(held=GOOD.held[:2], disturbances=[fault]) == []


def test_takeovers_have_the_seconds_until_another_node_had_the_lease() -> None:
    assert list(takeovers(GOOD)) == [(GOOD.disturbances[0], 6.5)]


def test_faults_of_others_are_no_reason_for_a_lease_that_does_not_move() -> None:
    others = [Disturbance(("one",), 20.0, 30.0), Disturbance(("second",), 1.0, 15.0)]
    assert changed(held=GOOD.held[:2], disturbances=[*GOOD.disturbances, *others]) != []


STRANGE: Mark = (3, "x")


@pytest.mark.parametrize(
    ("told", "to"),
    [
        ({"logs": {"logs": [Log((*STRANGE, 0)), Log((*STRANGE, 0), is_removed=True), *LOGS]}}, "logs"),
        (
            {"heads": {"heads": [*HEADS, Header(STRANGE, "c"), Reorganised(NEW, [STRANGE])]}},
            "heads",
        ),
        ({"answers": {"answers": [Answer(STRANGE, 3, is_known=True)]}}, "answers"),
        ({"journals": [[*ENTRIES, Entry((7, 2), (7, 1), "v", "x")]]}, "the journal"),
    ],
    ids=["logs", "heads", "answers", "the journal"],
)
def test_blocks_that_the_chain_never_had_are_found(told: dict[str, Any], to: str) -> None:
    assert changed(**told) == [f"{to} was told of block x, which was never in the chain"]


@pytest.mark.parametrize("other", [{"head": "2 c", "root": "s"}, {"head": "2 c"}])
def test_nodes_that_stand_elsewhere_are_found(other: dict[str, str]) -> None:
    (line,) = changed(stands={"leader": STAND, "one": STAND, "two": other})
    assert line.startswith("root is r at leader")


def test_what_nodes_never_should_do_is_said() -> None:
    assert changed(complaints=["one ended by itself with 1"]) == ["one ended by itself with 1"]
