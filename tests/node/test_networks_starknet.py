"""Networks that follow a Starknet chain: beside an Ethereum chain of each kind, and alone."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.cluster.growing import new_chain
from tests.memory_transport import Conversation
from tests.reply_schemas import ReplySchemas, document_of
from tests.sync.starknet.world import ended
from wsnode.cli.status.report import lines_of
from wsnode.ethereum.chain import Chain
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.work import CallTask, pieces_of
from wsnode.node.assembly import open_network
from wsnode.node.chains import ETHEREUM_FOLDER
from wsnode.node.config import Config, ConfigurationError, FollowConfig, NetworkConfig, ReplicaConfig
from wsnode.node.config_check import hindrances, served
from wsnode.node.config_file import read
from wsnode.server.access.router import Caller, Network
from wsnode.starknet.rpc.forwarded.methods import FORWARDED
from wsnode.sync.starknet.settings import FollowStarknetConfig

STARKNET = FollowStarknetConfig(chain="starknet:SN_TEST", upstreams=("ws://127.0.0.1:1",))
ROLES: dict[str, dict[str, Any]] = {
    "followed": {"follow": FollowConfig(upstreams=("ws://127.0.0.1:1",))},
    "a replica": {"replica": ReplicaConfig("redis://127.0.0.1:1")},
    "stored": {},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with new_chain() as chain:
        genesis = chain.folder.read_genesis()
    with Chain.open(tmp_path / ETHEREUM_FOLDER, genesis, writer=True, durable=False):
        return tmp_path


@contextmanager
def opened(folder: Path, **roles: Any) -> Iterator[Network]:
    network = NetworkConfig(str(folder), follow_starknet=STARKNET, **roles)
    with open_network("one", network, Config(networks={"one": network}, open=True)) as made:
        yield made


async def status_of(network: Network) -> dict[str, Any]:
    """Return the status, valid by the network's own schema."""
    session = Conversation(Dispatcher(network.registry, network.open_view), Caller(network="one"))
    reply = session.receive(b'{"jsonrpc":"2.0","id":1,"method":"wsnode_status","params":[]}')
    if isinstance(reply, CallTask):
        reply = await ended(reply)
    session.end_turn()
    status: dict[str, Any] = json.loads(b"".join(pieces_of(reply or b"")))["result"]
    ReplySchemas(document_of(network.registry)).validate("wsnode_status", status)
    return status


@pytest.mark.parametrize("role", ROLES)
async def test_the_status_has_both_chains_and_their_trust(folder: Path, role: str) -> None:
    with opened(folder, **ROLES[role]) as network:
        status = await status_of(network)
    assert status["mode"] == {"followed": "full", "a replica": "replica", "stored": "stored"}[role]
    starknet = status["starknet"]
    assert (starknet["mode"], starknet["chain"], starknet["head"]) == ("full", "SN_TEST", None)
    assert status["trust"].endswith(f"Starknet: {starknet['trust']}")
    assert status["trust"].startswith(
        "Starknet: " if role == "stored" else "Ethereum: every block is executed"
    )
    lines = lines_of(status)
    assert f"trust: {status['trust']}" in lines
    assert "Starknet full, connecting: no block" in lines
    assert "Starknet chain: SN_TEST" in lines


async def test_the_trust_names_what_no_hash_covers_and_what_is_forwarded(folder: Path) -> None:
    with opened(folder) as network:
        trust = (await status_of(network))["starknet"]["trust"]
    for member in ("receipt.execution_resources.l2_gas", "finality_status", "before 0.13.4 l2_gas_price"):
        assert member in trust
    for name in FORWARDED:
        assert f"{name}," in trust


async def test_a_starknet_chain_alone_has_the_same_status(tmp_path: Path) -> None:
    with opened(tmp_path) as network:
        status = await status_of(network)
    assert (status["mode"], status["chain"]) == ("full", "SN_TEST")
    assert lines_of(status)[:2] == ["full, connecting: no block", "chain: SN_TEST"]


async def test_readiness_is_that_of_both_chains(folder: Path) -> None:
    with opened(folder, **ROLES["stored"]) as network:
        assert network.not_ready_reason() == "alt: too few upstreams can be followed"
        assert {figure.name for figure in network.figures()} >= {
            "wsnode_starknet_sync_live",
            "wsnode_head_number",
        }


def test_a_replica_takes_its_starknet_chain_from_upstreams(tmp_path: Path) -> None:
    file = tmp_path / "wsnode.toml"
    file.write_text(
        '[networks.one]\ndata = "one"\n[networks.one.replica]\njournal = "redis://h"\n'
        '[networks.one.follow_starknet]\nchain = "starknet"\nupstreams = ["wss://first.example/ws/v3/KEY"]\n'
    )
    config = read(file)
    lines = "\n".join(served(config))
    assert "follows 1 upstreams of starknet, repeats the journal at redis://h:6379" in lines
    # Its Ethereum chain has to be there, or its genesis named.
    assert any("holds no chain" in line for line in hindrances(config))


async def test_a_folder_without_an_ethereum_chain_is_no_replica(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigurationError, match="holds no chain: `wsnode replica` with a --genesis"),
        opened(tmp_path, **ROLES["a replica"]),
    ):
        await trio.lowlevel.checkpoint()
