"""The checker of histories finds each kind of violation, and none in what keeps all promises."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests.cluster.faults.histories import (
    KEPT_SECONDS,
    LOST_SECONDS,
    Answer,
    Entry,
    Failed,
    Fates,
    Header,
    History,
    Log,
    Mark,
    Place,
    Reorganised,
    Sent,
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
ENTRIES = [Entry((5, 1), None, "x"), Entry((5, 2), (5, 1), "y"), Entry((7, 1), (5, 2), "z")]
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
    epochs=[5, 5, 7],
    stands={"leader": STAND, "one": STAND},
    canonical=[GENESIS, FIRST, NEW],
    canonical_logs=[ADDED, KEPT],
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
        ([*HEADS, Failed("a block could not be told")], "could not be told"),
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
        ([ENTRIES, [Entry((5, 2), (5, 1), "other")]], "two records have the id (5, 2)"),
        ([[ENTRIES[0], ENTRIES[2]]], "follows (5, 2), and comes after (5, 1)"),
        ([[ENTRIES[2], Entry((6, 1), (7, 1), "w")]], "record (6, 1) comes after (7, 1)"),
    ],
)
def test_records_of_one_id_or_out_of_order_are_found(
    journals: Sequence[Sequence[Entry]], reason: str
) -> None:
    assert any(reason in line for line in changed(journals=journals))


def test_an_epoch_that_comes_after_a_higher_one_is_found() -> None:
    assert changed(epochs=[5, 7, 6]) == ["epoch 6 came after 7"]


@pytest.mark.parametrize("other", [{"head": "2 c", "root": "s"}, {"head": "2 c"}])
def test_nodes_that_stand_elsewhere_are_found(other: dict[str, str]) -> None:
    (line,) = changed(stands={"leader": STAND, "one": STAND, "two": other})
    assert line.startswith("root is r at leader")


def test_what_nodes_never_should_do_is_said() -> None:
    assert changed(complaints=["one ended by itself with 1"]) == ["one ended by itself with 1"]
