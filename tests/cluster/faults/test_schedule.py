"""A schedule of faults follows from its seed alone."""

from itertools import pairwise

import msgspec

from tests.cluster.faults.schedule import KINDS, WRITER_KINDS, Targets, counts, moments, schedule, touched

TARGETS = Targets(
    ("leader", "one", "two"), ("redis-1", "redis-2"), ("sentinel-1", "sentinel-2"), can_cut=True
)


STANDBYS = Targets(
    ("source", "first", "second", "one"),
    TARGETS.servers,
    TARGETS.helpers,
    can_cut=True,
    standbys=("first", "second"),
    source="source",
)


def test_equal_seeds_have_equal_faults_and_others_others() -> None:
    assert schedule(1, 600, TARGETS) == schedule(1, 600, TARGETS)
    assert schedule(1, 600, TARGETS) != schedule(2, 600, TARGETS)


def test_a_longer_schedule_begins_as_a_shorter_one() -> None:
    shorter = schedule(3, 60, TARGETS)
    assert schedule(3, 600, TARGETS)[: len(shorter)] == shorter


def test_all_kinds_come_and_cuts_only_where_lines_are() -> None:
    assert set(counts(schedule(1, 600, TARGETS))) == set(KINDS)
    uncut = Targets(TARGETS.nodes, TARGETS.servers, TARGETS.helpers, can_cut=False)
    assert set(counts(schedule(1, 600, uncut))) == set(KINDS) - {"cut"}


def test_a_target_has_one_fault_at_a_time_and_so_have_all_servers_together() -> None:
    faults = schedule(5, 1200, TARGETS)
    groups = {"redis-1": "redis", "redis-2": "redis", "sentinel-1": "helpers", "sentinel-2": "helpers"}
    for group in ("leader", "one", "two", "redis", "helpers"):
        own = [
            fault
            for fault in faults
            if group in (groups.get(fault.target, fault.target), groups.get(fault.other, fault.other))
        ]
        assert own
        assert all(before.at + before.seconds < after.at for before, after in pairwise(own))


def test_each_fault_begins_and_ends() -> None:
    faults = schedule(1, 60, TARGETS)
    told = list(moments(faults))
    assert [at for at, _fault, _begins in told] == sorted(at for at, _fault, _begins in told)
    assert [fault for _at, fault, begins in told if begins] == faults
    assert len(told) == 2 * len(faults)


def test_nodes_that_write_by_turns_are_away_for_longer_than_a_lease() -> None:
    faults = [fault for fault in schedule(1, 1200, STANDBYS) if fault.kind in WRITER_KINDS]
    assert {fault.kind for fault in faults} == set(WRITER_KINDS)
    assert {fault.target for fault in faults} == set(STANDBYS.standbys)
    assert all(fault.seconds >= 7.0 for fault in faults)
    assert all(fault.seconds <= 8.0 for fault in faults if fault.kind == "pause writer")
    assert {fault.other for fault in faults if fault.kind == "starve writer"} == {"source"}


def test_nothing_happens_to_redis_while_a_writer_does_not_reach_it() -> None:
    faults = schedule(2, 1200, STANDBYS)
    parts = [fault for fault in faults if fault.kind == "part writer"]
    assert parts
    for part in parts:
        others = [
            fault for fault in faults if fault is not part and part.at <= fault.at <= part.at + part.seconds
        ]
        assert {"redis", "helpers"}.isdisjoint(name for each in others for name in touched(each, STANDBYS))


def test_a_writer_is_cut_off_only_where_lines_are() -> None:
    uncut = msgspec.structs.replace(STANDBYS, can_cut=False)
    assert set(counts(schedule(1, 1200, uncut))) == {*KINDS, "kill writer", "pause writer"} - {"cut"}
