"""The Starknet chain of a network that repeats journals: the name of its journal, and its status."""

from pathlib import Path

import msgspec
import pytest
from trio.testing import MockClock

from tests.cluster.starknet.growing import GrowingStarknet, new_starknet_chain
from tests.reply_schemas import ReplySchemas, document_of
from tests.starknet.branches import branch
from wsnode.ethereum.primitives.values import Hash32
from wsnode.node.assembly import open_network
from wsnode.node.config import Config, ConfigurationError, NetworkConfig, ReplicaConfig
from wsnode.node.config_file import read
from wsnode.node.services.starknet_replica import StarknetReplicaService, named_first_hash
from wsnode.server.access.router import Network
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.felt import felt_text
from wsnode.starknet.live.hub import StarknetHub
from wsnode.sync.follow.sync_report import SyncStage

TOLD = ReplicaConfig("redis://:SECRET@127.0.0.1:1")
FIRST = Hash32(branch([[]])[0].hash)


def naming(first: str) -> ReplicaConfig:
    return msgspec.structs.replace(TOLD, starknet=first)


def test_the_first_block_is_that_of_the_chain_or_the_one_that_is_named() -> None:
    with new_starknet_chain() as chain:
        assert named_first_hash(chain, TOLD) is None
        assert named_first_hash(chain, naming("0x0001")) == bytes(31) + b"\1"
        mainnet = named_first_hash(chain, naming("SN_MAIN"))
        assert mainnet is not None
        assert felt_text(mainnet).startswith("0x47c3637b")
        growing = GrowingStarknet(chain)
        growing.begin()
        stored = named_first_hash(chain, TOLD)
        assert stored == growing.first_hash
        assert named_first_hash(chain, naming(felt_text(stored))) == stored
        with pytest.raises(ConfigurationError, match=r"its first block is 0x[0-9a-f]+, not 0x1$"):
            named_first_hash(chain, naming("0x1"))


@pytest.mark.parametrize("first", ["MAIN", "0x", "0x" + "1" * 65, "0xg"])
def test_what_is_no_hash_of_a_block_is_refused_with_its_place(tmp_path: Path, first: str) -> None:
    file = tmp_path / "wsnode.toml"
    file.write_text(
        f'[networks.one]\ndata = "one"\nreplica = {{journal = "redis://h", starknet = "{first}"}}'
    )
    with pytest.raises(ConfigurationError, match=r"replica.starknet: Expected `str` matching regex"):
        read(file)


def test_a_number_that_is_no_felt_is_refused() -> None:
    with (
        new_starknet_chain() as chain,
        pytest.raises(ConfigurationError, match=r"replica.starknet: a felt is below"),
    ):
        named_first_hash(chain, naming("0x" + "f" * 64))


async def test_an_empty_journal_keeps_nobody_from_blocks_that_there_are(mock_clock: MockClock) -> None:
    with new_starknet_chain() as chain:
        network = StarknetReplicaService(chain, StarknetHub(chain), TOLD, FIRST)
        assert network.not_ready_reason() == "alt: the journal was not reached yet"
        network.replica.is_reachable = True
        assert network.not_ready_reason() == "alt: the journal is empty"
        GrowingStarknet(chain).begin()
        assert network.replica.stage is SyncStage.CONNECTING
        assert network.not_ready_reason() is None
        network.replica.replica_lag.noted(7)
        assert network.not_ready_reason() == "alt: 7 blocks and 0.0 s behind the journal"


def opened(data: Path, replica: ReplicaConfig | None) -> Network:
    told = NetworkConfig(str(data), replica=replica)
    with open_network("one", told, Config(networks={"one": told}, open=True)) as network:
        return network


async def test_a_network_with_only_an_alt_chain_says_how_it_stands(tmp_path: Path) -> None:
    with StarknetChain.open(tmp_path, writer=True) as chain:
        network = StarknetReplicaService(chain, StarknetHub(chain), TOLD, FIRST)
        empty = await network.tell_status()
        GrowingStarknet(chain).begin()
        status = await network.tell_status()
    assert (empty["head"], status["head"]["number"]) == (None, "0x0")
    alt = status["replica"]["alt"]
    assert (status["mode"], alt["state"], alt["journal"]) == ("replica", "connecting", "redis://127.0.0.1:1")
    names = [figure.labels for figure in network.figures()]
    assert names == [{"family": "alt"}] * len(names)
    schemas = ReplySchemas(document_of(opened(tmp_path, None).registry))
    for each in (empty, status):
        schemas.validate("wsnode_status", each)


def test_a_folder_without_a_block_needs_the_first_ones_hash(tmp_path: Path) -> None:
    with StarknetChain.open(tmp_path, writer=True):
        pass
    with pytest.raises(ConfigurationError, match="holds no Starknet block, which would name its journal"):
        opened(tmp_path, TOLD)
    assert opened(tmp_path, naming("0x1")).not_ready_reason() is not None
