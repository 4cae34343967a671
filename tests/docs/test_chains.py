"""docs/reference/chains.md: `geth --dev` is followed as it says, with its own genesis."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.geth_process import GETH, SPARING, STARTING_SECONDS, running
from tests.node_process import run, until
from tests.scenarios.test_following import command, following, head, plain, result, status, wait_for_head_of
from tests.vector_files import CHECKOUT

pytestmark = [pytest.mark.slow, pytest.mark.skipif(GETH is None, reason="needs geth")]

PAGE = (CHECKOUT / "docs/reference/chains.md").read_text()


@contextmanager
def development(folder: Path) -> Iterator[tuple[str, str]]:
    """Run `geth --dev` on a folder, and give its addresses for HTTP and for WebSocket."""
    assert GETH is not None
    ports = ("--port", "0", "--http.port", "0", "--ws.port", "0", "--authrpc.port", "0")
    begun = (GETH, "--dev", "--datadir", str(folder), "--http", "--ws", *ports)
    with running((*begun, "--nodiscover", "--ipcdisable", *SPARING), folder.parent / "geth.log") as endpoint:
        yield f"http://{endpoint('false')}", f"ws://{endpoint('false')}"


def make_folder(folder: Path) -> None:
    """Run `geth --dev` until it has written its genesis and ended.

    A console ends by itself: a signal that comes while a node starts ends it before it has written all.
    """
    assert GETH is not None
    command = [GETH, "--dev", "--datadir", str(folder), "--nodiscover", "--ipcdisable", "--port", "0"]
    once = [*command, *SPARING, "--authrpc.port", "0", "--exec", "eth.blockNumber", "console"]
    subprocess.run(once, capture_output=True, check=True, timeout=STARTING_SECONDS)


def dumped(folder: Path) -> Path:
    """Return the genesis that geth dumps of a folder, in a file as the page calls it."""
    assert GETH is not None
    command = [GETH, "--datadir", str(folder), "dumpgenesis"]
    dump = subprocess.run(command, capture_output=True, check=True, timeout=STARTING_SECONDS).stdout
    file = folder.parent / "dumped.json"
    file.write_bytes(dump)
    return file


def test_the_pages_way_to_follow_geths_development_chain_works(tmp_path: Path) -> None:
    make_folder(tmp_path / "dev")
    file = dumped(tmp_path / "dev")
    if "bogotaTime" in json.loads(file.read_text())["config"]:
        ended = run(*command(tmp_path / "refused", "ws://127.0.0.1:1", genesis=file))
        assert ended.returncode == 1
        assert "config.bogotaTime names a fork that" in ended.stderr
        assert len(ended.stderr.splitlines()) == 1

    (line,) = re.findall(r"^python3 .*bogotaTime.*$", PAGE, re.MULTILINE)
    words = [sys.executable, *shlex.split(line)[1:]]
    subprocess.run(words, cwd=tmp_path, check=True, timeout=STARTING_SECONDS)
    with (
        development(tmp_path / "dev") as (http, websocket),
        following(tmp_path / "ours", websocket, genesis=tmp_path / "genesis.json") as node,
    ):
        (account,) = result(http, "eth_accounts")
        # geth fills in the nonce of the transaction before as long as its pool has not taken that in.
        payments = [
            {"from": account, "to": "0x" + "77" * 20, "value": "0x5", "nonce": hex(nonce)}
            for nonce in range(3)
        ]
        sent = [result(http, "eth_sendTransaction", payment) for payment in payments]
        until("blocks", lambda: head(http)[0] >= 1 and result(http, "eth_getTransactionReceipt", sent[-1]))
        wait_for_head_of(node, http)
        for each in sent:
            found = result(plain(node), "eth_getTransactionReceipt", each)
            assert found == result(http, "eth_getTransactionReceipt", each)
        assert result(plain(node), "eth_getBalance", "0x" + "77" * 20) == "0xf"
        (upstream,) = status(node)["upstreams"]
        assert (upstream["state"], upstream.get("reason")) == ("followed", None)
