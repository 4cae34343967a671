"""A Redis for each test that wants one."""

from collections.abc import Iterator

import pytest

from tests.cluster.redis_server import RedisServer, started_redis


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with started_redis() as server:
        yield server
