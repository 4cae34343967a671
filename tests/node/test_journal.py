"""Which chains can be published, and what a configuration says of their journals."""

from pathlib import Path

import pytest

from tests.cluster.growing import Growing, new_chain
from tests.memory_transport import asking
from tests.reply_schemas import validating
from wsnode.cluster.publisher import JournalPublisher
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.node.config import ConfigurationError, JournalConfig
from wsnode.node.config_check import served
from wsnode.node.config_file import read
from wsnode.node.services.journal import publisher_of

TOLD = JournalConfig("redis://:SECRET@127.0.0.1:1")


def publisher(chain: Chain, *, is_development: bool = True) -> JournalPublisher:
    return publisher_of(chain, Hub(chain), TOLD, is_development=is_development)


def test_a_light_folder_cannot_be_published(tmp_path: Path) -> None:
    with new_chain() as full:
        genesis = full.folder.read_genesis()
    with (
        Chain.open(
            tmp_path, genesis, writer=True, durable=False, kind=FolderKind(10, is_light=True)
        ) as chain,
        pytest.raises(ConfigurationError, match="light folder cannot be published"),
    ):
        publisher(chain, is_development=False)


def test_a_folder_with_a_window_cannot_be_published(tmp_path: Path) -> None:
    with new_chain() as full:
        genesis = full.folder.read_genesis()
    with (
        Chain.open(tmp_path, genesis, writer=True, durable=False, kind=FolderKind(10)) as chain,
        pytest.raises(ConfigurationError, match="replicas begin with all blocks"),
    ):
        publisher(chain, is_development=False)


def test_the_status_of_a_node_tells_of_its_journal() -> None:
    with new_chain() as chain:
        Growing(chain).extend(1)
        hub = Hub(chain)
        registry = build_registry(chain, hub=hub, journal=publisher(chain).status)
        status = validating(asking(Dispatcher(registry, chain.snapshot)))("wsnode_status")["result"]
        assert status["journal"] == {"leading": False, "epoch": 0, "published": None, "lag": None}


def written(folder: Path, table: str) -> Path:
    file = folder / "wsnode.toml"
    file.write_text(f'[networks.main]\ndata = "one"\n{table}\n')
    return file


def test_a_journal_is_named_without_its_secret(tmp_path: Path) -> None:
    config = read(
        written(
            tmp_path,
            """
            follow = {upstreams = ["ws://127.0.0.1:1"]}
            journal = {url = "rediss://user:SECRET@redis.example/1", bytes = 2_000_000}
            """,
        )
    )
    told = config.networks["main"].journal
    assert told is not None
    assert (told.bounds.bytes, told.bounds.records) == (2_000_000, 100_000)
    lines = list(served(config))
    assert any("published to rediss://redis.example:6379" in line for line in lines)
    assert not any("SECRET" in line for line in lines)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ('journal = {url = "redis://:SECRET@h"}', "networks.main.journal: the process that writes a chain"),
        ('journal = {url = "http://SECRET"}', "a journal's URL begins with"),
        ('journal = {url = "redis://h", size = 1}', "networks.main.journal.size: unknown setting"),
        ('journal = {url = "redis://h", bytes = 1}', "journal.bytes: Expected `int` >= 1048576"),
    ],
)
def test_a_journal_that_cannot_be_is_refused_in_a_line(tmp_path: Path, table: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason) as raised:
        read(written(tmp_path, table))
    assert "SECRET" not in str(raised.value)
