"""starknet-rs, unmodified, on a node that follows a chain: blocks, events, state and all subscriptions."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.nodes import keyed
from tests.node_process import PATIENCE, until
from tests.starknet.block_changes import Json
from tests.starknet.reference.made_blocks import EVENTS, RECEIPTS, notifications
from tests.starknet.reference.node import CHAIN_ID
from tests.starknet.reference.world import KEYS, MAX_WAIT, World, world
from tests.starknet.test_followed_clients import hashes, watch

pytestmark = pytest.mark.nightly

BLOCKS = 20
VARIABLE = "WSNODE_STARKNET_RS"
"""Names the program of this crate, which `.ci/nightly` builds: it takes some minutes."""
KINDS = ("heads", "events", "receipts", "transactions", "statuses")
VERSIONS = {"": "0.10.3", "/rpc/v0_9": "0.9.0"}


@pytest.fixture
def program() -> str:
    found = os.environ.get(VARIABLE, "nowhere")
    if not Path(found).is_file():
        pytest.skip(f"no starknet-rs: {VARIABLE} names the program that cargo builds of this folder")
    return found


@pytest.fixture
def running(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path, blocks=BLOCKS, window=16) as (running, _watcher):
        yield running


def emitted(block: Json) -> list[list[Any]]:
    members = ("block_hash", "transaction_hash", "from_address", "keys", "data")
    return [[event[member] for member in members] for event in notifications(EVENTS, block)]


def finality(receipt: Json) -> list[str]:
    return ["ACCEPTED_ON_L2", receipt["execution_status"]]


@pytest.mark.parametrize("end", VERSIONS)
def test_starknet_rs_reads_blocks_events_and_state(program: str, running: World, end: str) -> None:
    branch = running.made.branch(running.wait_for_head())
    before, block = branch[-2:]
    header, block_hash = block["header"], block["header"]["block_hash"]
    # The first contract sends no transactions, so its class stays.
    contract = branch[0]["state_diff"]["deployed_contracts"][0]
    address, url = contract["address"], keyed(running.node.http_url) + end
    # An upstream of a busy machine is late now and then; proved values are kept.
    running.read()
    unknown = hex(int(address, 16) + 1)
    at_block = {"block_number": header["block_number"]}
    until("absence is proved", lambda: running.ask("getNonce", at_block, unknown)["code"] == 20, MAX_WAIT)
    ended = subprocess.run(
        [program, "read", url, str(header["block_number"]), address, KEYS[0]],
        capture_output=True,
        timeout=PATIENCE,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    answers = json.loads(ended.stdout)
    members = answers.pop("classMembers")
    events = [*emitted(before), *emitted(block)]
    assert events
    assert answers == {
        "specVersion": VERSIONS[end],
        "chainId": "0x" + CHAIN_ID.encode().hex(),
        "blockHash": block_hash,
        "root": header["new_root"],
        "hashes": hashes([block]),
        "count": len(block["transactions"]),
        "areSame": True,
        "statuses": [finality(entry["receipt"]) for entry in block["transactions"]],
        "events": {"events": events, "pages": (len(events) + 1) // 2},
        "storage": running.made.slot(block_hash, address, KEYS[0]),
        "nonce": running.made.nonce(block_hash, address),
        "classHash": contract["class_hash"],
        "isUnknown": True,
    }
    assert {"sierra_program", "entry_points_by_type"} <= set(members)


def test_starknet_rs_is_sent_everything_on_all_subscriptions(program: str, running: World) -> None:
    answers, blocks, dropped = watch(running, [program, "watch", keyed(running.node.http_url)])
    places = [[block["header"]["block_number"], block["header"]["block_hash"]] for block in blocks]
    assert answers["heads"] == places
    assert answers["events"] == [event for block in blocks for event in emitted(block)]
    assert answers["receipts"] == [
        [receipt["block_hash"], receipt["transaction_hash"]]
        for block in blocks
        for receipt in notifications(RECEIPTS, block)
    ]
    assert answers["transactions"] == hashes(blocks)
    assert [status[0] for status in answers["statuses"]] == ["ACCEPTED_ON_L2"]
    header = dropped[0]["header"]
    place = [header["block_number"], header["block_hash"]]
    assert answers["reorganisations"] == {kind: [[*place, *place]] for kind in KINDS}
