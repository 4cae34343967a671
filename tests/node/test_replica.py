"""A network of a wsnode.toml that repeats a journal: what is read, and what is refused with its place."""

from pathlib import Path

import msgspec
import pytest

from tests.cluster.growing import new_chain
from tests.reply_schemas import ReplySchemas, document_of
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.node.config import (
    Config,
    ConfigurationError,
    JournalConfig,
    NetworkConfig,
    ReplicaConfig,
    advertised,
)
from wsnode.node.config_file import read
from wsnode.node.running import needs_restart
from wsnode.node.services.replica import ReplicaService


def written(folder: Path, text: str) -> Path:
    file = folder / "wsnode.toml"
    file.write_text(f'[networks.one]\ndata = "one"\n{text}')
    return file


def test_a_table_names_the_journal_and_the_genesis_beside_the_file(tmp_path: Path) -> None:
    text = '[networks.one.replica]\njournal = "redis://u:SECRET@h"\ngenesis = "g.json"\nmax_lag = 5'
    network = read(written(tmp_path, text)).networks["one"]
    assert network.replica is not None
    assert network.is_live
    assert (str(network.replica.address), network.replica.max_lag) == ("redis://h:6379", 5)
    assert network.replica.genesis == str(tmp_path / "g.json")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('replica = {journal = "http://u:SECRET@h"}', "a journal's URL begins with one of"),
        ("replica = {}", "missing required field `journal`"),
        ('replica = {journal = "redis://h", lag = 1}', "lag"),
        ('replica = {journal = "redis://h", advertise = "h"}', "advertise"),
        (
            'replica = {journal = "redis://h"}\nfollow = {upstreams = ["ws://u"]}',
            "networks.one.replica: a journal alone tells",
        ),
        (
            'replica = {journal = "redis://h"}\njournal = {url = "redis://h"}',
            "networks.one.replica: a journal alone tells",
        ),
    ],
)
def test_what_is_impossible_is_refused_with_its_place(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason) as raised:
        read(written(tmp_path, text))
    assert "SECRET" not in str(raised.value)


def test_another_journal_needs_no_restart() -> None:
    first, second = (
        Config(networks={"one": NetworkConfig("one", replica=ReplicaConfig(url))})
        for url in ("redis://a", "redis://b")
    )
    assert needs_restart(first, second) == []


def test_rates_are_counted_at_the_journal_unless_that_is_refused() -> None:
    told = ReplicaConfig("redis://h")
    assert str(NetworkConfig("one", replica=told).rates_at) == "redis://h:6379"
    assert str(NetworkConfig("one", journal=JournalConfig("redis://j")).rates_at) == "redis://j:6379"
    alone = NetworkConfig("one", replica=ReplicaConfig("redis://h", shared_rates=False))
    assert alone.rates_at is NetworkConfig("one").rates_at is None
    first, second = (Config(networks={"one": each}) for each in (NetworkConfig("one", replica=told), alone))
    assert needs_restart(first, second) == ["networks"]


def test_filters_are_at_the_journal_unless_that_is_refused() -> None:
    told = ReplicaConfig("redis://h")
    assert str(NetworkConfig("one", replica=told).filters_at) == "redis://h:6379"
    assert str(NetworkConfig("one", journal=JournalConfig("redis://j")).filters_at) == "redis://j:6379"
    alone = NetworkConfig("one", replica=ReplicaConfig("redis://h", shared_filters=False))
    assert alone.filters_at is NetworkConfig("one").filters_at is None
    first, second = (Config(networks={"one": each}) for each in (NetworkConfig("one", replica=told), alone))
    assert needs_restart(first, second) == ["networks"]


def test_another_shared_pool_waits_for_a_restart() -> None:
    first, second = (
        Config(networks={"one": NetworkConfig("one", replica=ReplicaConfig("redis://h", shared_pool=shared))})
        for shared in (True, False)
    )
    assert needs_restart(first, second) == ["networks"]


def test_a_node_is_where_it_listens_unless_it_says_otherwise() -> None:
    node = Config(networks={}, listen="127.0.0.1:8545", open=True)
    assert advertised(None, node) == "http://127.0.0.1:8545/"
    assert advertised("https://n/", node) == "https://n/"
    assert advertised(None, msgspec.structs.replace(node, tls_cert="c")) == "https://127.0.0.1:8545/"
    # A key is needed, or the port is not known yet.
    assert advertised(None, msgspec.structs.replace(node, open=False)) is None
    assert advertised(None, msgspec.structs.replace(node, listen="127.0.0.1:0")) is None
    assert "0.0.0.0" not in str(advertised(None, msgspec.structs.replace(node, listen="0.0.0.0:8545")))


TOLD = ReplicaConfig("redis://:SECRET@127.0.0.1:1")


def replicated(chain: Chain, pool: TransactionPool | None = None) -> ReplicaService:
    hub = Hub(chain)
    return ReplicaService(chain, LiveTree(BlockTree(chain), hub), hub, pool, TOLD, None)


async def test_the_status_of_a_replica_tells_of_its_journal_and_not_of_its_secret() -> None:
    with new_chain() as chain:
        network = replicated(chain)
        status = await network.tell_status()
        document = document_of(build_registry(chain, following=network))
        ReplySchemas(document).validate("wsnode_status", status)
        assert (status["mode"], status["state"], status["lag"]) == ("replica", "connecting", None)
        assert status["replica"]["journal"] == "redis://127.0.0.1:1"
        assert status["replica"]["writer"] is None
        assert network.not_ready_reason() == "the journal was not reached yet"
        assert network.announced_height() is None
        names = {figure.name for figure in network.figures()}
        assert {"wsnode_replica_refused_total", "wsnode_replica_journal_reachable"} <= names


def test_a_light_folder_is_no_replica(tmp_path: Path) -> None:
    with new_chain() as full:
        genesis = full.folder.read_genesis()
    with (
        Chain.open(
            tmp_path, genesis, writer=True, durable=False, kind=FolderKind(10, is_light=True)
        ) as chain,
        pytest.raises(ConfigurationError, match="a light or a forked chain has no replicas"),
    ):
        replicated(chain)


def test_a_folder_with_a_window_is_no_replica(tmp_path: Path) -> None:
    with new_chain() as full:
        genesis = full.folder.read_genesis()
    with (
        Chain.open(tmp_path, genesis, writer=True, durable=False, kind=FolderKind(10)) as chain,
        pytest.raises(ConfigurationError, match="a full folder of 10 blocks is no replica"),
    ):
        replicated(chain)
