"""The whole node and geth, driven by turns through the Engine API: each finds the other's payloads valid."""

import base64
import hashlib
import hmac
import json
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.ethereum.rpc.engine.test_blobs import MISSING, bit_field, transaction, versioned_hash
from tests.geth_process import GETH, SPARING, running
from tests.node_process import PATIENCE, started
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import contracts_of, development_genesis
from wsnode.ethereum.codec.transactions import sign_transaction
from wsnode.ethereum.primitives.values import hexadecimal

SECRET = bytes(range(32))
GENESIS_TIME = 1_700_000_000
CHAIN_ID = 31337
ROOT = "0x" + "42" * 32
ZERO = "0x" + "00" * 32
SLOTS = 12


def part(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def token() -> str:
    claims = json.dumps({"iat": int(time.time())}).encode()
    signed = f"{part(json.dumps({'alg': 'HS256', 'typ': 'JWT'}).encode())}.{part(claims)}"
    return f"{signed}.{part(hmac.digest(SECRET, signed.encode(), hashlib.sha256))}"


class Peer:
    """A node behind two ports."""

    def __init__(self, engine: str, public: str) -> None:
        self.engine, self.public = engine, public

    def drive(self, method: str, *params: Any) -> Any:
        return self._ask(self.engine, f"engine_{method}", params, {"Authorization": f"Bearer {token()}"})

    def ask(self, method: str, *params: Any) -> Any:
        return self._ask(self.public, method, params, {})

    def _ask(self, url: str, method: str, params: tuple[Any, ...], headers: dict[str, str]) -> Any:
        reply = self.reply(url, method, params, headers)
        assert "error" not in reply, reply
        return reply["result"]

    def reply(self, url: str, method: str, params: tuple[Any, ...], headers: dict[str, str]) -> Any:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        request = urllib.request.Request(url, body, {"Content-Type": "application/json", **headers})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)


@contextmanager
def ours(folder: Path, genesis: Path, secret: Path) -> Iterator[Peer]:
    log = folder / "node.log"
    options = ("--engine", "127.0.0.1:0", "--jwt-secret", str(secret), "--genesis", str(genesis), "--open")
    with log.open("w") as errors:
        arguments = ("serve", "--data", str(folder / "data"), "--listen", "127.0.0.1:0", *options)
        with started(*arguments, stderr=errors) as node:
            found = re.search(r"engine at (http://\S+)", log.read_text())
            assert found is not None
            yield Peer(found[1], node.bare(node.http_url))


@contextmanager
def theirs(folder: Path, genesis: Path, secret: Path) -> Iterator[Peer]:
    assert GETH is not None
    data = ("--datadir", str(folder / "geth"), "--state.scheme", "hash")
    subprocess.run([GETH, *data, "init", str(genesis)], check=True, capture_output=True, timeout=PATIENCE)
    command = (
        *(GETH, *data, *SPARING, "--networkid", str(CHAIN_ID), "--nodiscover", "--maxpeers", "0"),
        *("--port", "0", "--ipcdisable", "--http", "--http.port", "0", "--authrpc.port", "0"),
        *("--authrpc.jwtsecret", str(secret), "--syncmode", "full"),
    )
    with running(command, folder / "geth.log") as endpoint:
        yield Peer(f"http://{endpoint('true')}", f"http://{endpoint('false')}")


def choose(peer: Peer, head: str, attributes: dict[str, Any] | None = None) -> Any:
    state = {"headBlockHash": head, "safeBlockHash": ZERO, "finalizedBlockHash": ZERO}
    version = 4 if attributes is not None and "slotNumber" in attributes else 3
    reply = peer.drive(f"forkchoiceUpdatedV{version}", state, attributes)
    assert reply["payloadStatus"]["status"] == "VALID", reply
    return reply["payloadId"]


def transfer(nonce: int) -> str:
    signed = sign_transaction(
        ACCOUNTS[0].secret,
        chain_id=CHAIN_ID,
        nonce=nonce,
        to=ACCOUNTS[1].address,
        value=1,
        input=b"",
        gas=21_000,
        max_fee=10**11,
        max_priority_fee=10**9,
    )
    return hexadecimal(signed)


def genesis_of(fork_slot: int | None) -> bytes:
    """Return a genesis of Osaka, with Amsterdam from the time of a slot on."""
    accounts = [account.address for account in ACCOUNTS]
    text = development_genesis(accounts, 10**21, GENESIS_TIME, accounts=contracts_of("amsterdam"))
    genesis = json.loads(text)
    if fork_slot is not None:
        genesis["config"]["amsterdamTime"] = time_of(fork_slot)
    return json.dumps(genesis).encode()


def time_of(slot: int) -> int:
    return GENESIS_TIME + 12 * (slot + 1)


@pytest.mark.slow
@pytest.mark.skipif(GETH is None, reason="needs geth")
@pytest.mark.parametrize("fork_slot", [None, SLOTS // 3], ids=["osaka", "into-amsterdam"])
def test_each_finds_the_payloads_of_the_other_valid_and_the_head_goes_sideways_on_both(
    tmp_path: Path, fork_slot: int | None
) -> None:
    genesis, secret = tmp_path / "genesis.json", tmp_path / "jwt.hex"
    genesis.write_bytes(genesis_of(fork_slot))
    secret.write_text(SECRET.hex())
    with ours(tmp_path, genesis, secret) as node, theirs(tmp_path, genesis, secret) as geth:
        peers = (node, geth)
        head = node.ask("eth_getBlockByNumber", "0x0", False)["hash"]
        assert head == geth.ask("eth_getBlockByNumber", "0x0", False)["hash"]
        made: list[str] = [head]
        for slot in range(SLOTS):
            for peer in peers:
                peer.ask("eth_sendRawTransaction", transfer(slot))
            made.append(_built(peers, peers[slot % 2], made[-1], slot, fork_slot, expected=1))
        # A rival branch of empty blocks from the middle on, then the old one again.
        rival = made[SLOTS // 2]
        for slot in range(3):
            rival = _built(peers, peers[slot % 2], rival, 100 + slot, fork_slot, expected=None)
        for peer in peers:
            choose(peer, made[-1])
        blocks = [peer.ask("eth_getBlockByNumber", "latest", True) for peer in peers]
        assert blocks[0]["hash"] == blocks[1]["hash"] == made[-1]
        assert blocks[0]["stateRoot"] == blocks[1]["stateRoot"]
        with pytest.raises(urllib.error.HTTPError) as refused:
            node._ask(node.engine, "eth_chainId", (), {})
        with refused.value:
            assert refused.value.code == 401


@pytest.mark.slow
@pytest.mark.skipif(GETH is None, reason="needs geth")
def test_cells_of_blobs_are_those_that_geth_gives(tmp_path: Path) -> None:
    genesis, secret = tmp_path / "genesis.json", tmp_path / "jwt.hex"
    genesis.write_bytes(genesis_of(None))
    secret.write_text(SECRET.hex())
    everything = "0x" + "ff" * 16
    with ours(tmp_path, genesis, secret) as node, theirs(tmp_path, genesis, secret) as geth:
        for peer in (node, geth):
            peer.ask("eth_sendRawTransaction", transaction(CHAIN_ID, by_cells=True))
            # From then on geth keeps cells, where it kept blobs.
            peer.drive("exchangeCapabilities", ["engine_getBlobsV4"])
        for hashes in ([versioned_hash()], [MISSING, versioned_hash(), versioned_hash()], [MISSING], []):
            for field in (bit_field(), bit_field(0), bit_field(7, 8, 63, 64, 127), everything):
                replies = [peer.drive("getBlobsV4", hashes, field) for peer in (node, geth)]
                assert replies[0] == replies[1], (hashes, field)
        for field in ("0x", everything + "00"):
            codes = [refusal(peer, "getBlobsV4", [MISSING], field) for peer in (node, geth)]
            assert codes == [-32602, -32602]
        assert [refusal(peer, "getBlobsV4", [MISSING] * 129, everything) for peer in (node, geth)] == [
            -38004
        ] * 2


def refusal(peer: Peer, method: str, *params: Any) -> int:
    """Return the code of the error by which the Engine API of a node refuses a call."""
    headers = {"Authorization": f"Bearer {token()}"}
    code: int = peer.reply(peer.engine, f"engine_{method}", params, headers)["error"]["code"]
    return code


def _built(
    peers: tuple[Peer, ...],
    builder: Peer,
    parent: str,
    slot: int,
    fork_slot: int | None,
    expected: int | None,
) -> str:
    """Return the hash of a payload of one node, which is the head of all by then."""
    is_amsterdam = fork_slot is not None and slot >= fork_slot
    get_payload, new_payload = (
        ("getPayloadV6", "newPayloadV5") if is_amsterdam else ("getPayloadV5", "newPayloadV4")
    )
    attributes: dict[str, Any] = {
        "timestamp": hex(time_of(slot)),
        "prevRandao": f"0x{slot:064x}",
        "suggestedFeeRecipient": "0x" + "fe" * 20,
        "withdrawals": [
            {"index": hex(slot), "validatorIndex": "0x1", "address": "0x" + "77" * 20, "amount": "0x5"}
        ],
        "parentBeaconBlockRoot": ROOT,
    }
    if is_amsterdam:
        attributes |= {"slotNumber": hex(slot), "targetGasLimit": hex(60_000_000)}
    identity = choose(builder, parent, attributes)
    envelope = builder.drive(get_payload, identity)
    if expected is not None:
        # geth hands out what it has, which right after the beginning may be an empty block.
        while len(envelope["executionPayload"]["transactions"]) < expected:
            attributes["prevRandao"] = f"0x{int(attributes['prevRandao'], 16) + 2**32:064x}"
            time.sleep(0.1)
            identity = choose(builder, parent, attributes)
            time.sleep(0.1)
            envelope = builder.drive(get_payload, identity)
    payload = envelope["executionPayload"]
    for peer in peers:
        status = peer.drive(new_payload, payload, [], ROOT, envelope["executionRequests"])
        assert status["status"] == "VALID", status
        choose(peer, payload["blockHash"])
    return str(payload["blockHash"])
