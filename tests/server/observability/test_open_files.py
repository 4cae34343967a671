"""The files of a process bound its connections."""

import os
import resource
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from wsnode.server.limits import RESERVED_FILES, Limits
from wsnode.server.observability.open_files import (
    LAST,
    OWN,
    count_free_files,
    has_free_files,
    most_files,
    raise_most_files,
)
from wsnode.server.server import Server


@contextmanager
def most(soft: int) -> Iterator[None]:
    """Let this process have so many open files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_process_has_free_files_down_to_the_last_ones() -> None:
    # Numbers below the highest one may be free too.
    used = max(map(int, os.listdir(OWN))) + 1
    with most(used + LAST + 20), ExitStack() as opened:
        count = 0
        while has_free_files():
            opened.enter_context(open(os.devnull))
            count += 1
        assert most_files() - LAST == max(map(int, os.listdir(OWN)))
        assert count >= 20
        assert count_free_files() <= LAST


def test_a_process_takes_all_files_that_it_is_granted() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard == resource.RLIM_INFINITY or hard <= 512:
        pytest.skip("the system grants this process any number of files, or few")
    with most(512):
        raise_most_files()
        assert most_files() == min(hard, 1 << 20)


def test_files_bound_connections() -> None:
    limits = Limits(connections=1000, operators_connections=100)
    assert limits.within(1100 + RESERVED_FILES) == limits
    lower = limits.within(1099 + RESERVED_FILES)
    assert (lower.connections, lower.operators_connections) == (999, 100)
    few = limits.within(40)
    assert (few.connections, few.operators_connections) == (27, 3)
    none = limits.within(0)
    assert (none.connections, none.operators_connections) == (1, 1)


def test_the_connections_of_a_server_are_within_its_files_also_with_other_limits() -> None:
    server = Server([], Limits(connections=1000), processes=2, open_files=100)
    assert server.all_limits.connections == 2 * 100 - 50 - 18
    assert server.limits.connections == 66
    server.apply(Limits(connections=2000))
    assert server.limits.connections == 66
    server.apply(Limits(connections=50, operators_connections=1))
    assert server.limits.connections == 25
