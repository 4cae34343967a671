"""A replica whose disk fails once while it stores a record stores that after all, and goes on."""

from itertools import product
from pathlib import Path

import pytest

from tests.cluster.redis_server import RedisServer, needs_redis
from tests.cluster.replica.test_replica_processes import come_together, leader, replica
from tests.node_process import run
from tests.store.failing_writes import FAULTS, ORDER, PAGES, build_library, needs_compiler, order_failure

pytestmark = [needs_redis, needs_compiler, pytest.mark.slow]


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["one process", "workers"])
def test_a_record_whose_commit_failed_is_stored_after_all(
    redis: RedisServer, tmp_path: Path, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    order, library = tmp_path / "order", build_library(tmp_path)
    with leader(redis, tmp_path) as first, monkeypatch.context() as environment:
        environment.setenv("LD_PRELOAD", str(library))
        environment.setenv(ORDER, str(order))
        with replica(redis, tmp_path, "replica", "127.0.0.1:0", *options) as second:
            for fault, pages in product(FAULTS, PAGES):
                come_together(first, second)
                order_failure(order, "replica/eth/chain/data.mdb", fault, pages)
                first("evm_mine")
                come_together(first, second)
                assert not order.exists(), f"no write has failed: {fault}, {pages}"
    assert run("doctor", "--data", str(tmp_path / "replica")).returncode == 0
