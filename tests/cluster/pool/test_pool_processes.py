"""What is sent at one replica is pending at another one, at each of its workers, and at the next writer."""

import json
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.cluster.redis_server import RedisServer, needs_redis
from tests.cluster.replica.test_replica_processes import Asked, come_together, filled, leader, replica, until
from tests.cluster.replica.test_tx_resender_lost_pools import EMPTY, has_pending, sent
from tests.node.workers.processes import samples
from tests.node.workers.test_worker_process_group_pools import result
from tests.node_process import PATIENCE, kept_address, started

pytestmark = [needs_redis, pytest.mark.slow]

SLOWLY = ("--block-time", "3600")
BOTH = {"pending": "0x2", "queued": "0x0"}


def heard(client: ClientConnection, count: int) -> list[str]:
    """Return the next notifications' results."""
    return [json.loads(client.recv(PATIENCE))["params"]["result"] for _ in range(count)]


def test_what_is_sent_at_a_replica_is_pending_at_another_one_and_at_the_next_writer(
    redis: RedisServer, tmp_path: Path
) -> None:
    with ExitStack() as opened:
        here, there, elsewhere = (opened.enter_context(kept_address()) for _ in range(3))
        first = opened.enter_context(ExitStack())
        writer = first.enter_context(leader(redis, tmp_path, *SLOWLY, listen=here))
        one = opened.enter_context(replica(redis, tmp_path, "one", there))
        other = opened.enter_context(replica(redis, tmp_path, "other", elsewhere, "--workers", "2"))
        for copy in (one, other):
            come_together(writer, copy)
            until(lambda copy=copy: copy("net_peerCount") == "0x3")  # type: ignore[misc]
        workers = [opened.enter_context(connect(other.node.socket_url)) for _ in range(2)]
        for client in workers:
            result(client, "eth_subscribe", "newPendingTransactions")
        sender = writer("eth_accounts")[1]
        names = sent(one, writer, 1)
        for client in workers:
            # The last nonce came first, so all became pending at once.
            assert sorted(heard(client, len(names))) == sorted(names)
            for name in names:
                found = result(client, "eth_getTransactionByHash", name)
                assert isinstance(found, dict)
                assert found["blockHash"] is None
            assert result(client, "eth_getTransactionCount", sender, "pending") == hex(len(names))
            assert result(client, "txpool_status") == {"pending": hex(len(names)), "queued": "0x0"}
        # A process that has no turn reports later; the writer counts what Redis has acknowledged.
        until(lambda: samples(other.node).get('wsnode_shared_pool_listed{network="other"}') == len(names))
        taken = 'wsnode_shared_pool_total{network="other",result="taken"}'
        until(lambda: samples(other.node).get(taken) == len(names))
        until(lambda: samples(writer.node)['wsnode_shared_pool_listed{network="dev"}'] == len(names))

        writer("anvil_dropTransaction", names[0])
        for client in workers:
            until(lambda client=client: result(client, "eth_getTransactionByHash", names[0]) is None)  # type: ignore[misc]
        until(lambda: one("eth_getTransactionByHash", names[0]) is None)

        writer.node.stop(signal.SIGKILL)
        first.close()
        writer = opened.enter_context(leader(redis, tmp_path, *SLOWLY, listen=here))
        until(lambda: has_pending(writer, names[1:]))
        later = sent(other, writer, 2)
        for node in (writer, one, other):
            until(lambda node=node: has_pending(node, names[1:] + later))  # type: ignore[misc]
        writer("evm_mine")
        for node in (one, other):
            come_together(writer, node)
            # One of several workers may not have heard of the block yet.
            until(lambda node=node: node("txpool_status") == EMPTY)  # type: ignore[misc]


def test_what_the_one_of_two_followers_that_writes_has_is_pending_at_the_workers_of_the_other(
    redis: RedisServer, tmp_path: Path
) -> None:
    with ExitStack() as opened:
        dev = ("--data", str(tmp_path / "leader"), "--listen", "127.0.0.1:0", "--quiet")
        source = Asked(opened.enter_context(started("dev", *dev)))
        source("evm_setAutomine", False)
        told = ("--genesis", str(tmp_path / "leader/eth/genesis.json"), "--upstream", source.node.socket_url)
        place = ("--journal", redis.url, "--listen", "127.0.0.1:0", "--open")
        first, second = (
            Asked(
                opened.enter_context(started("follow", "--data", str(tmp_path / name), *told, *place, *more))
            )
            for name, more in (("first", ()), ("second", ("--workers", "2")))
        )
        for node in (first, second):
            come_together(source, node)
        workers = [opened.enter_context(connect(second.node.socket_url)) for _ in range(2)]
        for client in workers:
            result(client, "eth_subscribe", "newPendingTransactions")
        sent = first("eth_sendRawTransaction", source("eth_signTransaction", filled(source)))
        later = first(
            "eth_sendRawTransaction", source("eth_signTransaction", filled(source) | {"nonce": "0x1"})
        )
        for client in workers:
            # Its upstream tells of them as well, before or after.
            assert sorted(heard(client, 2)) == sorted([sent, later])
            until(lambda client=client: result(client, "txpool_status") == BOTH)  # type: ignore[misc]
            assert result(client, "eth_getTransactionByHash", later) is not None
        source("evm_mine")
        for node in (first, second):
            come_together(source, node)
            # One of several workers may not have heard of the block yet.
            until(lambda node=node: node("txpool_status") == EMPTY)  # type: ignore[misc]
