"""A writer is killed with transactions in its pool that replicas have acknowledged, and no client helps."""

import os
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cluster.redis_server import RedisServer, needs_redis
from tests.cluster.replica.test_replica_processes import (
    Asked,
    come_together,
    filled,
    leader,
    replica,
    taken,
    until,
)
from tests.node.workers.processes import samples
from tests.node.workers.test_sync_status_processes import follower_of
from tests.node_process import kept_address

pytestmark = [needs_redis, pytest.mark.slow]

SLOWLY = ("--block-time", "3600")
EACH = 3
EMPTY = {"pending": "0x0", "queued": "0x0"}


def sent(copy: Asked, writer: Asked, account: int) -> list[str]:
    """Send transactions of one account to a replica, the last one first, and return their hashes."""
    sender = writer("eth_accounts")[account]
    names: list[str] = []
    for nonce in reversed(range(EACH)):
        told = {**filled(writer), "from": sender, "nonce": hex(nonce)}
        names.append(taken(copy, writer("eth_signTransaction", told)))
    return names


def has_pending(node: Asked, names: list[str]) -> bool:
    found = [node("eth_getTransactionByHash", name) for name in names]
    return all(each is not None and each["blockHash"] is None for each in found)


def test_what_replicas_have_acknowledged_is_in_a_block_of_the_next_writer(
    redis: RedisServer, tmp_path: Path
) -> None:
    with ExitStack() as opened:
        here, there, elsewhere = (opened.enter_context(kept_address()) for _ in range(3))
        first = opened.enter_context(ExitStack())
        writer = first.enter_context(leader(redis, tmp_path, *SLOWLY, listen=here))
        alone = opened.enter_context(replica(redis, tmp_path, "alone", there))
        several = opened.enter_context(replica(redis, tmp_path, "several", elsewhere, "--workers", "2"))
        writer("evm_mine")
        for copy in (alone, several):
            come_together(writer, copy)
            until(lambda copy=copy: copy("net_peerCount") == "0x3")  # type: ignore[misc]
        names = [*sent(alone, writer, 1), *sent(several, writer, 2)]
        assert has_pending(writer, names)
        writer.node.stop(signal.SIGKILL)
        first.close()
        # What the process that follows knows of its node's pool is lost as well.
        os.kill(follower_of(several.node), signal.SIGKILL)
        writer = opened.enter_context(leader(redis, tmp_path, *SLOWLY, listen=here))
        until(lambda: has_pending(writer, names))
        assert writer("txpool_status") == {"pending": hex(2 * EACH), "queued": "0x0"}
        writer("evm_mine")
        for copy in (alone, several):
            come_together(writer, copy)
            assert all(copy("eth_getTransactionReceipt", name) for name in names)
            # One of several workers may not have heard of the block yet.
            until(lambda copy=copy: copy("txpool_status") == EMPTY)  # type: ignore[misc]
        # Each sends its own, unless the other, which knows them as well, has been first.
        until(lambda: sent_again(alone) + sent_again(several) >= 2 * EACH)
        assert max(sent_again(alone), sent_again(several)) <= 2 * EACH


def sent_again(copy: Asked) -> float:
    """Return how many transactions of all nodes it has sent to the next writer."""
    return sum(
        count
        for name, count in samples(copy.node).items()
        if name.startswith("wsnode_replica_sent_again_total{") and 'result="taken"' in name
    )
