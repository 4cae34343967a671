"""A follower of geth whose head is proved, by an honest beacon node beside one that lies in a named way."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import msgspec
import pytest

from tests.geth_process import GETH, started_geth
from tests.node_process import PATIENCE, post, started, until
from tests.peers.processes.beacon_server import BeaconServer, started_beacon_server
from tests.peers.processes.consensus_client import genesis_file

SLOT_SECONDS = 2
WATCHED_SECONDS = 5 * SLOT_SECONDS

FROM_THE_START = {
    "bootstrap": "checkpoint: ",
    "bootstrap_branch": "committee branch: ",
    "next_committee": "next committee: ",
    "other_period": "it has no update of period ",
    "no_updates": "it has no update of period ",
}
"""Lies about what only a new light client asks for, and how the node is named for them."""
LIES = FROM_THE_START | {
    "signature": "signature: ",
    "signers": "signature: ",
    "committee": "signature: ",
    "domain": "signature: ",
    "version": "signature: ",
    "finality_branch": "finality branch: ",
    "finalized_header": "finality branch: ",
    "execution_branch": "execution branch: ",
    "block_hash": "execution branch: ",
    "future": "",
    "fork": "",
    "malformed": "malformed: ",
    "null": "malformed: ",
    "stale": "",
    "few": "",
    "withheld": "",
    "404": "refused: HTTP 404",
    "500": "refused: HTTP 500",
    "429": "refused: HTTP 429",
    "html": "malformed: ",
    "truncated": "invalid: the answer breaks HTTP",
    "huge": "invalid: the answer has more than 4194304 bytes",
    "silent": "timeout: ",
    "slow": "timeout: ",
    "events_end": "",
    "events_garbage": "malformed: ",
    "events_silent": "",
}
"""All lies, and how the node is named for them, if it is."""
COUNTED = {"future": "future", "fork": "fork", "other_period": "period"}
"""Rules that are counted for lies that an honest node could tell too."""

pytestmark = [pytest.mark.nightly, pytest.mark.skipif(GETH is None, reason="no `geth` on the path")]


class Scene(msgspec.Struct, frozen=True):
    """An execution node and two beacon nodes above it."""

    execution: str
    upstream: str
    honest: BeaconServer
    liar: BeaconServer


def ask(url: str, method: str, *params: Any) -> Any:
    """Return the result of a call."""
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return json.loads(post(url, text))["result"]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("scene")
    with ExitStack() as stack:
        period = ("--dev.period", str(SLOT_SECONDS))
        geth = stack.enter_context(started_geth(folder / "geth", genesis_file(), *period))
        until("two blocks", lambda: int(ask(geth.http, "eth_blockNumber"), 16) >= 2)
        honest, liar = (stack.enter_context(started_beacon_server(geth.http)) for _ in range(2))
        yield Scene(geth.http, geth.websocket, honest, liar)


@pytest.mark.parametrize("lie", FROM_THE_START)
def test_a_lie_to_a_new_light_client_is_named(lie: str, scene: Scene, tmp_path: Path) -> None:
    scene.liar.control(lie=lie)
    with following(tmp_path, scene, scene.liar) as (url, log):
        until("it is named", lambda: is_named(lie, scene, url, log))
        assert head(url) in (None, ask(scene.execution, "eth_getBlockByNumber", "0x0", False)["hash"])


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_changes_no_answer_and_delays_none(lie: str, scene: Scene, tmp_path: Path) -> None:
    scene.liar.control(lie=lie if lie in FROM_THE_START else None)
    with following(tmp_path, scene, scene.liar, scene.honest) as (url, log):
        until("the proved head", lambda: head(url) == scene.honest.control()["proved"]["block_hash"])
        scene.liar.control(lie=lie)
        delays, answers = watch(url, scene)
        # No answer is another one than the execution node's.
        lacking = [
            each for each in answers if ask(scene.execution, "eth_getBlockByHash", each, False) is None
        ]
        assert lacking == []
        print(f"{lie}: {max(delays):.2f} s behind the honest node at most")
        # What is truly signed and has no block cannot be told from a block that is late.
        assert lie == "withheld" or max(delays) < SLOT_SECONDS, delays
        if lie not in FROM_THE_START:
            until("it is named", lambda: is_named(lie, scene, url, log))
        assert f"beacon {scene.honest.url}" not in log.read_text()


@contextmanager
def following(folder: Path, scene: Scene, *beacons: BeaconServer) -> Iterator[tuple[str, Path]]:
    """Run a follower, and give its URL and the file of its log."""
    log = folder / "log"
    named = [part for beacon in beacons for part in ("--beacon", beacon.url)]
    begun = ("--data", str(folder / "data"), "--genesis", str(genesis_file()))
    served = ("--light", "--open", "--listen", "127.0.0.1:0", "--upstream", scene.upstream)
    checkpoint = ("--checkpoint", scene.honest.checkpoint)
    with (
        log.open("w") as written,
        started("follow", *begun, *served, *checkpoint, *named, stderr=written) as node,
    ):
        yield node.bare(node.http_url), log


def is_named(lie: str, scene: Scene, url: str, log: Path) -> bool:
    """Return whether the log names the liar with what it did, or its rule is counted, if it broke one."""
    named = LIES[lie]
    if named and f"beacon {scene.liar.url}: {named}" in log.read_text():
        return True
    if lie not in COUNTED:
        return not named
    with urlopen(f"{url}metrics", timeout=PATIENCE) as reply:
        text = reply.read().decode()
    return COUNTED[lie] in re.findall(r'^wsnode_beacon_refused_total{.*rule="([^"]+)".*} ', text, re.M)


def head(url: str, tag: str = "latest") -> str | None:
    """Return the hash of a block, None before there is one."""
    found = ask(url, "eth_getBlockByNumber", tag, False)
    return None if found is None else found["hash"]


def watch(url: str, scene: Scene) -> tuple[list[float], set[str]]:
    """Return by how many seconds each proved block was behind the honest node, and all that was served."""
    proved: dict[str, float] = {}
    served: dict[str, float] = {}
    others: set[str] = set()
    end = time.monotonic() + WATCHED_SECONDS
    while time.monotonic() < end:
        proved.setdefault(scene.honest.control()["proved"]["block_hash"], time.monotonic())
        if (latest := head(url)) is not None:
            served.setdefault(latest, time.monotonic())
        others |= {found for tag in ("safe", "finalized") if (found := head(url, tag)) is not None}
        time.sleep(0.02)
    # The first is from before, and the last may be on its way.
    counted = list(proved.items())[1:-1]
    return [served.get(each, end) - since for each, since in counted], {*served, *others}
