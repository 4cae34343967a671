"""geth's light client, blsync, drives a node that follows another: payloads whose ancestors nobody sends."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.node_process import COMMAND, kept_address, until
from tests.peers.processes.daemon import Daemon
from tests.peers.processes.driven_wsnode import driven_wsnode
from tests.peers.processes.lodestar import Lodestar, genesis_file, started_lodestar
from tests.vector_files import require_vectors

PROGRAM = os.environ.get("WSNODE_BLSYNC")
"""github.com/ethereum/go-ethereum/cmd/blsync@v1.17.10, as `go install` makes it."""
SLOT_SECONDS = 2
MAX_SECONDS = 900.0
"""Of three epochs of 32 slots; light clients know no smaller ones."""
STATUSES = re.compile(r"Successful (NewPayload|ForkchoiceUpdated) .*status=(\w+)")


@pytest.mark.soak
@pytest.mark.skipif(PROGRAM is None, reason="WSNODE_BLSYNC names no blsync")
def test_a_light_client_drives_a_node_whose_upstream_brings_what_it_leaves_out(
    tmp_path: Path, secret: Path
) -> None:
    genesis = genesis_file()
    with (
        driven_wsnode(tmp_path, genesis, secret) as upstream,
        started_lodestar(
            *(tmp_path, upstream.head()[1], upstream.endpoints.engine, secret),
            preset="mainnet",
            seconds=SLOT_SECONDS,
        ) as lodestar,
    ):
        until("finality", lambda: lodestar.finalized() > 0, MAX_SECONDS)
        with (
            driven_follower(tmp_path, genesis, secret, upstream.url) as (node, engine),
            light_client(tmp_path, lodestar, engine, secret) as log,
        ):
            until("a valid head", lambda: statuses(log)["ForkchoiceUpdated"].count("VALID") > 5)
            assert "VALID" in statuses(log)["NewPayload"]
            assert "INVALID" not in statuses(log)["NewPayload"]
            number, found = node.head()
            assert upstream.ask("eth_getBlockByNumber", hex(number), False)["hash"] == found


def statuses(log: Path) -> dict[str, list[str]]:
    """Return what the light client was answered, by method."""
    found: dict[str, list[str]] = {"NewPayload": [], "ForkchoiceUpdated": []}
    for method, status in STATUSES.findall(log.read_text()):
        found[method].append(status)
    return found


@contextmanager
def driven_follower(folder: Path, genesis: Path, secret: Path, upstream: str) -> Iterator[tuple[Daemon, str]]:
    """Run a node that is driven and follows, and give it with the URL of its engine."""
    with kept_address() as engine, kept_address() as public:
        file = folder / "wsnode.toml"
        file.write_text(
            f'listen = "{public}"\nopen = true\n[networks.main]\ndata = "{folder / "theirs"}"\n'
            f'[networks.main.engine]\nlisten = "{engine}"\njwt_secret = "{secret}"\ngenesis = "{genesis}"\n'
            f'[networks.main.follow]\nupstreams = ["{upstream.replace("http", "ws")}"]\n'
        )
        command = [*COMMAND, "serve", "--config", str(file)]
        with Daemon(command, f"http://{public}/", folder / "theirs.log") as node:
            yield node, f"http://{engine}"


@contextmanager
def light_client(folder: Path, lodestar: Lodestar, engine: str, secret: Path) -> Iterator[Path]:
    """Run blsync from the last final block on, and give the file of its log."""
    proxy = require_vectors("tools/consensus/lodestar/events_proxy.py")
    finality = lodestar.ask("/eth/v1/beacon/states/head/finality_checkpoints")["finalized"]
    genesis = lodestar.ask("/eth/v1/beacon/genesis")
    forks = {name: value for name, value in lodestar.ask("/eth/v1/config/spec").items() if "_FORK_" in name}
    (folder / "config.yaml").write_text("".join(f"{name}: {value}\n" for name, value in forks.items()))
    log = folder / "blsync.log"
    with kept_address() as address, log.open("wb") as output:
        before = [sys.executable, str(proxy), lodestar.url, address.rpartition(":")[2]]
        command = [str(PROGRAM), "--beacon.api", f"http://{address}", "--beacon.checkpoint", finality["root"]]
        command += ["--beacon.config", str(folder / "config.yaml"), "--blsync.engine.api", engine]
        command += ["--beacon.genesis.gvroot", genesis["genesis_validators_root"]]
        command += ["--beacon.genesis.time", genesis["genesis_time"], "--blsync.jwtsecret", str(secret)]
        # It takes slots for twelve seconds.
        command += ["--beacon.nofilter"]
        with subprocess.Popen(before) as passing, subprocess.Popen(command, stderr=output) as client:
            try:
                yield log
            finally:
                client.kill()
                passing.kill()
