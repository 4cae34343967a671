"""`wsnode status`, as an operator reads it."""

from typing import Any

import pytest

from tests.node_process import run
from wsnode.cli.status import lines_of

PLACE = "redis://one:6379?network=alpha"
AWAY = f"the journal at {PLACE} is away: Connection refused"


@pytest.mark.parametrize(
    ("replica", "line"),
    [
        ({"reachable": True, "position": "17-42"}, f"journal: {PLACE}, followed up to record 17-42"),
        (
            {"reachable": True, "position": "17-42", "writer": False},
            f"journal: {PLACE}, followed up to record 17-42, and no process writes it now",
        ),
        ({"reachable": True, "position": None}, f"journal: {PLACE}, followed up to record none"),
        ({"reachable": False, "position": None}, f"journal: {PLACE} was not reached yet"),
        ({"reachable": False, "position": "17-42", "error": AWAY}, f"journal: {AWAY}"),
    ],
)
def test_a_replica_says_how_it_stands_to_its_journal(replica: dict[str, Any], line: str) -> None:
    status: dict[str, Any] = {
        "mode": "replica",
        "state": "live",
        "head": {"number": "0x10", "hash": "0xab"},
        "lag": 0,
        "upstreams": [],
        "replica": {"journal": PLACE, "writer": True, **replica},
    }
    assert lines_of(status) == ["replica, live: head 16 0xab, 0 blocks behind", line]


def test_the_alt_chain_of_a_replica_has_lines_of_its_own() -> None:
    alt = {"state": "live", "head": None, "journal": PLACE, "reachable": True, "writer": False}
    status: dict[str, Any] = {
        "mode": "replica",
        "head": None,
        "upstreams": [],
        "replica": {"alt": {**alt, "position": "17-42"}},
    }
    assert lines_of(status) == [
        "replica: no block",
        "alt, live: no block",
        f"alt journal: {PLACE}, followed up to record 17-42, and no process writes it now",
    ]


def test_a_node_that_is_not_there_is_one_line() -> None:
    ended = run("status", "http://127.0.0.1:1")
    assert (ended.returncode, ended.stderr.splitlines()) == (
        1,
        ["error: the node cannot be asked: [Errno 111] Connection refused"],
    )
