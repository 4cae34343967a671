"""starknet.js and starknet.py, unmodified, on all subscriptions of a node that follows a chain."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.node_process import PATIENCE
from tests.starknet.block_changes import Json
from tests.starknet.reference.made_blocks import EVENTS, HEADS, RECEIPTS, notifications, without_finality
from tests.starknet.reference.world import World, world
from tests.starknet.test_rpc_clients import node_command, python_command

pytestmark = pytest.mark.slow

BLOCKS = 20


@pytest.fixture
def running(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path, blocks=BLOCKS, window=16) as (running, _watcher):
        yield running


def watch(running: World, command: Sequence[str]) -> tuple[Any, list[Json], list[Json]]:
    """Have a client subscribe while the chain grows, is reorganised, and grows.

    Return what the client has printed, the blocks that it saw, in order, and those that were dropped.
    """
    head = running.made.branch(running.wait_for_head())[-1]
    url = running.node.bare(running.node.socket_url)
    transaction_hash = head["transactions"][0]["receipt"]["transaction_hash"]
    number = head["header"]["block_number"]
    dropped: list[Json] = []
    with subprocess.Popen(
        [*command, url, transaction_hash, str(number + 5)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as client:
        try:
            assert client.stdout is not None
            assert client.stdout.readline() == "subscribed\n"
            running.command("grow", count=2)
            dropped.append(running.made.branch(running.wait_for_head())[-1])
            first = running.made.branch(running.wait_for_head())[-2]
            running.command("reorganise", depth=1, count=4)
            printed, errors = client.communicate(timeout=PATIENCE)
        finally:
            client.kill()
    assert client.returncode == 0, errors
    branch = running.made.branch(running.wait_for_head())[number + 2 :]
    return json.loads(printed), [first, *dropped, *branch], dropped


def hashes(blocks: list[Json]) -> list[str]:
    return [entry["receipt"]["transaction_hash"] for block in blocks for entry in block["transactions"]]


def test_starknet_js_is_sent_everything_on_all_subscriptions(running: World) -> None:
    answers, blocks, dropped = watch(running, node_command("starknet_js_subscriptions.mjs"))
    place = [dropped[0]["header"][name] for name in ("block_number", "block_hash")]
    for kind, name in ((HEADS, "heads"), (EVENTS, "events"), (RECEIPTS, "receipts")):
        items = [item for item in answers[name] if "starting_block_hash" not in item]
        wanted = [item for block in blocks for item in notifications(kind, block)]
        assert list(map(without_finality, items)) == wanted
    # Its handlers get reorganisations among the others.
    for name in ("heads", "events", "receipts", "transactions", "statuses"):
        (notice,) = [item for item in answers[name] if "starting_block_hash" in item]
        assert [notice["starting_block_number"], notice["starting_block_hash"]] == place
    found = [item["transaction_hash"] for item in answers["transactions"] if "transaction_hash" in item]
    assert found == hashes(blocks)
    (status,) = [item for item in answers["statuses"] if "status" in item]
    assert status["status"]["finality_status"] == "ACCEPTED_ON_L2"
    assert answers["unsubscribed"] == [True] * 5


def test_starknet_py_is_sent_everything_on_all_subscriptions(running: World) -> None:
    answers, blocks, dropped = watch(running, python_command("starknet_py_subscriptions.py"))
    assert answers["heads"] == [
        [block["header"]["block_number"], block["header"]["block_hash"]] for block in blocks
    ]
    members = ("block_hash", "transaction_hash", "transaction_index", "event_index", "from_address", "data")
    assert answers["events"] == [
        [event[member] for member in members] for block in blocks for event in notifications(EVENTS, block)
    ]
    assert answers["receipts"] == [
        [receipt["block_hash"], receipt["transaction_hash"]]
        for block in blocks
        for receipt in notifications(RECEIPTS, block)
    ]
    assert answers["transactions"] == hashes(blocks)
    assert answers["statuses"][0][0] == "ACCEPTED_ON_L2"
    number = dropped[0]["header"]["block_number"]
    assert answers["reorganisations"] == [[number, number]] * 5
    assert answers["unsubscribed"] == [True] * 5
