"""A chain that is driven and follows, as a whole process: geth has what a consensus client left out."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.payload_form import payload_of
from tests.node_process import PATIENCE, kept_address, started, until
from tests.peers.geth import SECRET, started_geth, token
from tests.scenarios.test_following import head, plain, readiness, result, status
from tests.vector_files import require_vectors


def drive(address: str, method: str, *params: Any) -> Any:
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token()}"}
    request = urllib.request.Request(f"http://{address}", json.dumps(call).encode(), headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        reply = json.load(answer)
    assert "error" not in reply, reply
    return reply["result"]


def payload_call(geth: str, number: str) -> list[Any]:
    """Return the parameters of newPayloadV4 for a block of geth's without blobs and requests."""
    encoded = bytes.fromhex(result(geth, "debug_getRawBlock", number)[2:])
    block_hash = bytes.fromhex(result(geth, "eth_getBlockByNumber", number, False)["hash"][2:])
    payload, beside = payload_of(encoded, block_hash)
    return [payload, [], beside["parentBeaconBlockRoot"], []]


@pytest.mark.slow
def test_what_a_consensus_client_leaves_out_comes_from_geth(tmp_path: Path) -> None:
    vectors = require_vectors("execution-apis")
    genesis, secret, file = vectors / "genesis.json", tmp_path / "jwt.hex", tmp_path / "wsnode.toml"
    secret.write_text(SECRET.hex())
    with (
        started_geth(tmp_path, genesis, vectors / "chain.rlp") as geth,
        kept_address() as engine,
    ):
        file.write_text(
            f'listen = "127.0.0.1:0"\nopen = true\n[networks.main]\ndata = "{tmp_path / "ours"}"\n'
            f'[networks.main.follow]\nupstreams = ["{geth.url}"]\n'
            f'[networks.main.engine]\nlisten = "{engine}"\njwt_secret = "{secret}"\ngenesis = "{genesis}"\n'
        )
        last = head(geth.url)[1]
        with started("serve", "--config", str(file)) as node:
            until("followed", lambda: status(node)["upstreams"][0]["state"] == "followed")
            assert (head(plain(node))[0], readiness(node)[0]) == (0, 503)
            call = payload_call(geth.url, "latest")
            # A second is enough for 54 blocks on a quick machine.
            assert drive(engine, "engine_newPayloadV4", *call)["status"] in {"SYNCING", "VALID"}
            until("valid", lambda: drive(engine, "engine_newPayloadV4", *call)["status"] == "VALID")
            assert head(plain(node))[1] != last
            choice = dict.fromkeys(("headBlockHash", "safeBlockHash", "finalizedBlockHash"), last)
            chosen = drive(engine, "engine_forkchoiceUpdatedV3", choice, None)
            assert chosen["payloadStatus"]["status"] == "VALID"
            assert head(plain(node)) == head(geth.url)
            until("ready", lambda: readiness(node)[0] == 200)
            assert status(node)["trust"].endswith("a consensus client chooses")
            with urllib.request.urlopen(plain(node) + "metrics", timeout=PATIENCE) as page:
                told = page.read().decode()
            assert "wsnode_payloads_total" in told
            assert "wsnode_upstreams_followed" in told
