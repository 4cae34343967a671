"""A writer and two replicas, and filters that are polled at each of them in turn."""

import random
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.redis_server import RedisServer, needs_redis
from tests.cluster.replica.test_replica_processes import Asked, come_together, kept, leader, replica, until
from tests.cluster.replica.test_replica_workers import answered

pytestmark = [needs_redis, pytest.mark.slow]

ROUNDS = 12


def poll(node: Asked, identity: str) -> Any:
    reply = node.answer("eth_getFilterChanges", identity)
    if "error" in reply:
        # The node has not got there yet, or Redis has had no turn for seconds.
        assert reply["error"]["code"] in (-32001, -32002), reply
        return []
    return reply["result"]


def is_gone(node: Asked, identity: str) -> bool:
    reply = node.answer("eth_getFilterChanges", identity)
    return bool(reply["error"]["message"] == "filter not found")


def test_a_filter_is_polled_at_every_node_in_turn(redis: RedisServer, tmp_path: Path) -> None:
    chance = random.Random(11)
    with ExitStack() as opened:
        writer = opened.enter_context(leader(redis, tmp_path))
        alone = opened.enter_context(replica(redis, tmp_path, "alone"))
        shared = opened.enter_context(replica(redis, tmp_path, "shared", "127.0.0.1:0", "--workers", "2"))
        nodes = [writer, alone, shared]
        for node in nodes:
            until(lambda node=node: "result" in node.answer("eth_newBlockFilter"))  # type: ignore[misc]
        come_together(writer, alone)
        come_together(writer, shared)
        identity = answered(shared, "eth_newFilter", {})
        logs: list[Any] = []
        for number in range(ROUNDS):
            writer.work(number)
            # What the writer tells has to be taken back by whichever node is polled next.
            logs += poll(writer, identity)
            writer("anvil_reorg", chance.randrange(2, 4), [])
            for node in chance.choices(nodes, k=4):
                logs += poll(node, identity)
        for node in nodes[1:]:
            come_together(writer, node)
        wanted = writer("eth_getLogs", {"fromBlock": "earliest"})

        def is_complete() -> bool:
            logs.extend(poll(chance.choice(nodes), identity))
            return bool(kept(logs) == wanted)

        until(is_complete)
        assert any(log["removed"] for log in logs)
        assert [poll(node, identity) for node in nodes] == [[]] * 3
        redis.kill()
        for node in nodes:
            assert node.answer("eth_getFilterChanges", identity)["error"]["code"] == -32002
            assert int(node("eth_blockNumber"), 16) > 0
        redis.start()
        for node in nodes:
            until(lambda node=node: is_gone(node, identity))  # type: ignore[misc]
