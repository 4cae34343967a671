"""`wsnode follow` with a head that is to be proved, from a checkpoint that is too old, or from none."""

import json
import time
from pathlib import Path
from typing import Final

import pytest

from tests.conformance.test_light_client import unprefixed
from tests.ethereum.live.growing import emitting_genesis
from tests.node_process import run
from tests.sync.follow.beacon.proved_world import grown_story
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.storage import meta
from wsnode.sync.follow.beacon.identity import chain_of, decode_config
from wsnode.sync.follow.beacon.light_client import LightClient
from wsnode.sync.follow.beacon.networks import DAY

pytestmark = pytest.mark.slow

NOWHERE: Final = "127.0.0.1:1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a genesis block, whose beacon chain began 15 days ago and some minutes."""
    story = grown_story()
    begun = {
        "GENESIS_TIME": str(int(time.time()) - 15 * DAY - 3600),
        "GENESIS_VALIDATORS_ROOT": story["genesis_validators_root"],
    }
    (tmp_path / "config.json").write_text(json.dumps(story["network"] | begun))
    (tmp_path / "genesis.json").write_bytes(emitting_genesis())
    return tmp_path


def follow(folder: Path) -> tuple[int, list[str]]:
    """Return the exit status of a follower that reaches nobody, and the lines that it says."""
    chain = ("--data", str(folder / "data"), "--genesis", str(folder / "genesis.json"))
    proofs = ("--beacon", f"http://{NOWHERE}", "--beacon-config", str(folder / "config.json"))
    ended = run("follow", *chain, "--upstream", f"ws://{NOWHERE}", *proofs, "--listen", "127.0.0.1:0")
    return ended.returncode, ended.stderr.splitlines()


def test_a_start_with_a_light_client_of_15_days_ends_with_status_1(folder: Path) -> None:
    story = grown_story()
    answer = json.dumps(story["bootstrap"]["object"]).encode()
    network = chain_of(decode_config((folder / "config.json").read_bytes())).network
    client = LightClient.bootstrap(network, unprefixed(story["checkpoint"]), answer)
    with Chain.open(folder / "data/eth", emitting_genesis(), writer=True, durable=False) as chain:
        chain.store.write(lambda writer: meta.put_light_client_row(writer, client.encode()))
    status, lines = follow(folder)
    assert status == 1
    assert "15 days ago, and a chain of that age can be forged; give a newer one" in lines[-1]


def test_a_start_with_neither_a_checkpoint_nor_a_light_client_ends_with_a_sentence(folder: Path) -> None:
    status, lines = follow(folder)
    assert status != 0
    assert "needs --checkpoint ROOT, the root of a finalized beacon block" in lines[-1]
