"""geth with a chain of ours, in a process of its own."""

import base64
import hashlib
import hmac
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.geth_process import SPARING, running
from tests.node_process import PATIENCE
from tests.peers.anvil import ask_url
from wsnode.ethereum.rpc.common.limits import CallLimits

PATIENT = CallLimits(call_seconds=PATIENCE, trace_seconds=PATIENCE, logs_seconds=PATIENCE)
"""Limits of a node beside it, whose answers are compared however slowly they come."""

NAMESPACES = "admin,debug,eth,miner,net,testing,txpool,web3"
SECRET = bytes(range(32))


class Geth(msgspec.Struct, frozen=True):
    """The addresses of the public API and of the engine API, which needs the secret."""

    url: str
    engine_url: str

    def ask(self, method: str, *params: Any) -> Any:
        """Return the whole reply."""
        return ask_url(self.url, method, *params)

    def send(self, body: Any, *, engine: bool = False) -> Any:
        """Return what it says to a request or a batch."""
        headers = {"Content-Type": "application/json"}
        if engine:
            headers["Authorization"] = f"Bearer {token()}"
        url = self.engine_url if engine else self.url
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            return json.load(reply)


def token() -> str:
    """Return a token for the engine API, good for a minute."""
    parts = ({"alg": "HS256", "typ": "JWT"}, {"iat": int(time.time())})
    signed = b".".join(_encoded(json.dumps(part).encode()) for part in parts)
    return (signed + b"." + _encoded(hmac.new(SECRET, signed, hashlib.sha256).digest())).decode()


def _encoded(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")


@contextmanager
def started_geth(folder: Path, genesis: Path, chain: Path) -> Iterator[Geth]:
    """Have geth import a chain and serve it, all its state included, and stop it in the end."""
    if (command := shutil.which("geth")) is None:
        pytest.skip("no `geth` on the path: go install github.com/ethereum/go-ethereum/cmd/geth@v1.17.10")
    (folder / "secret").write_text(SECRET.hex())
    shared = ["--datadir", str(folder / "data"), "--state.scheme", "path", "--gcmode", "archive"]
    network = str(json.loads(genesis.read_text())["config"]["chainId"])
    shared += ["--syncmode", "full", "--networkid", network, *SPARING]
    for task in (["init", str(genesis)], ["import", "--nocompaction", str(chain)]):
        subprocess.run([command, *shared, *task], check=True, capture_output=True, timeout=300)
    serving = ["--nodiscover", "--maxpeers", "0", "--nat", "none", "--port", "0", "--ipcdisable"]
    serving += ["--http", "--http.port", "0", "--http.api", NAMESPACES, "--rpc.allow-unprotected-txs"]
    serving += ["--authrpc.port", "0", "--authrpc.jwtsecret", str(folder / "secret"), "--bootnodes", ""]
    with running([command, *shared, *serving], folder / "geth.log") as endpoint:
        yield Geth(f"http://{endpoint('false')}", f"http://{endpoint('true')}")
