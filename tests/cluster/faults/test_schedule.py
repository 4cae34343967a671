"""A schedule of faults follows from its seed alone."""

from itertools import pairwise

from tests.cluster.faults.schedule import KINDS, Targets, counts, moments, schedule

TARGETS = Targets(
    ("leader", "one", "two"), ("redis-1", "redis-2"), ("sentinel-1", "sentinel-2"), can_cut=True
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
