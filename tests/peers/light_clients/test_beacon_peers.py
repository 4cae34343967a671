"""Light clients of others and ours on one beacon node: in each slot that both prove, the block is one."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from tests.geth_process import GETH, started_geth
from tests.node_process import PATIENCE, post, started, until
from tests.peers.processes.beacon_server import BeaconServer, started_beacon_server
from tests.peers.processes.consensus_client import genesis_file

HERE: Final = Path(__file__).parent
MODULES: Final = os.environ.get("WSNODE_LIGHT_CLIENTS")
"""A folder with the modules of `light_clients/package.json`."""
GETHS: Final = os.environ.get("WSNODE_GETH_LIGHT_CLIENT")
"""The program of `light_clients/geth.go`."""
PROVED: Final = 12
"""Slots that both must have proved."""
SLOT_SECONDS: Final = 2
NO_HASH: Final = "0x" + "00" * 32
"""Of the genesis block's parent, which a first header since Gloas proves."""

pytestmark = [pytest.mark.nightly, pytest.mark.skipif(GETH is None, reason="no `geth` on the path")]

Proved = dict[tuple[str, int], str]
"""The hash of the execution block by what it is, `proved` or `finalized`, and the slot."""


class Peer(msgspec.Struct, frozen=True):
    """A light client that prints what it proves, given the URL of a beacon node and a checkpoint."""

    command: tuple[str, ...]
    environment: Mapping[str, str]


def lodestar() -> Peer:
    """Return Lodestar's, of the minimal preset; its release knows no fork after Electra."""
    if MODULES is None:
        pytest.skip("WSNODE_LIGHT_CLIENTS names no folder with the modules of light_clients/package.json")
    return Peer(("node", str(HERE / "lodestar.mjs"), MODULES), {"LODESTAR_PRESET": "minimal"})


def geths() -> Peer:
    """Return that of go-ethereum, which blsync is made of: of the mainnet preset alone."""
    if GETHS is None:
        pytest.skip("WSNODE_GETH_LIGHT_CLIENT names no program of light_clients/geth.go")
    return Peer((GETHS,), {})


@contextmanager
def printed_by(peer: Peer, beacon: BeaconServer, folder: Path) -> Iterator[Path]:
    """Run a light client, and give the file of what it prints."""
    printed = folder / "peer"
    with printed.open("wb") as output, (folder / "peer.log").open("wb") as log:
        command = (*peer.command, beacon.url, beacon.checkpoint)
        environment = {**os.environ, **peer.environment}
        with subprocess.Popen(command, stdout=output, stderr=log, env=environment) as process:
            try:
                yield printed
            finally:
                process.kill()


def told_by(printed: Path) -> Proved:
    """Return what a light client has printed, but for a line that is not whole yet."""
    whole, _, _ = printed.read_text().rpartition("\n")
    return {key: found for line in whole.splitlines() for key, found in proved_in(json.loads(line)).items()}


def proved_in(told: Mapping[str, Any]) -> Proved:
    """Return the two blocks of a status, without those that are none."""
    headers = {name: told.get(name) for name in ("proved", "finalized")}
    return {(name, header["slot"]): header["hash"] or NO_HASH for name, header in headers.items() if header}


@pytest.mark.parametrize(
    ("peer", "options"),
    [
        pytest.param(lodestar, ("--fork", "electra"), id="lodestar-electra"),
        pytest.param(geths, ("--preset", "mainnet", "--fork", "fulu"), id="geth-fulu"),
        pytest.param(geths, ("--preset", "mainnet", "--fork", "gloas"), id="geth-gloas"),
    ],
)
def test_they_prove_the_same_blocks(
    peer: Callable[[], Peer], options: tuple[str, ...], tmp_path: Path
) -> None:
    theirs = peer()
    with ExitStack() as opened:
        period = ("--dev.period", str(SLOT_SECONDS))
        geth = opened.enter_context(started_geth(tmp_path / "geth", genesis_file(), *period))
        until("two blocks", lambda: int(ask(geth.http, "eth_blockNumber"), 16) >= 2)
        beacon = opened.enter_context(started_beacon_server(geth.http, *options))
        printed = opened.enter_context(printed_by(theirs, beacon, tmp_path))
        node = opened.enter_context(
            started(
                *("follow", "--light", "--open", "--listen", "127.0.0.1:0", "--upstream", geth.websocket),
                *("--data", str(tmp_path / "data"), "--genesis", str(genesis_file())),
                *("--beacon", beacon.url, "--checkpoint", beacon.checkpoint),
            )
        )
        ours: Proved = {}
        both: dict[tuple[str, int], tuple[str, str]] = {}

        def has_enough() -> bool:
            status = ask(node.bare(node.http_url), "wsnode_status")
            ours.update(proved_in(status.get("beacon", {})))
            told = told_by(printed)
            both.update({key: (found, told[key]) for key, found in ours.items() if key in told})
            names = [name for name, _ in both]
            return names.count("proved") >= PROVED and "finalized" in names

        until(f"{PROVED} slots that both have proved, and a final block", has_enough, 3 * PATIENCE)
        differing = {key: pair for key, pair in both.items() if len(set(pair)) > 1}
        assert differing == {}


def ask(url: str, method: str, *params: Any) -> Any:
    """Return the result of a call."""
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return json.loads(post(url, text))["result"]
