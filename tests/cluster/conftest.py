"""A Redis for each test that wants one, and time for its answers."""

from collections.abc import Iterator

import pytest

from tests.cluster.redis_server import RedisServer, started_redis
from tests.node_process import PATIENCE
from wsnode.cluster import filter_store, redis_journal


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with started_redis() as server:
        yield server


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait long for answers, and let leases last: on a busy machine a Redis may have no turn for seconds.

    Processes that a test starts are as patient as ever.
    """
    for module in (filter_store, redis_journal):
        monkeypatch.setattr(module, "ANSWER_SECONDS", PATIENCE)
    monkeypatch.setattr(redis_journal, "CONNECT_SECONDS", PATIENCE)
    monkeypatch.setattr(redis_journal, "_LEASE_MILLISECONDS", str(int(PATIENCE * 1000)))
