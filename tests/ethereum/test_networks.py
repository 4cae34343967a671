from pathlib import Path

import pytest

import wsnode
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.networks import ethereum
from wsnode.ethereum.networks.rules import rules_at
from wsnode.ethereum.networks.table import NETWORKS, final_total_difficulty, find_network, known_network
from wsnode.ethereum.state import ChainSpec
from wsnode.ethereum.storage.errors import NoAllocationError, UnsupportedExecutionError
from wsnode.ethereum.storage.folder_kind import FolderKind


@pytest.mark.parametrize("name", [network.name for network in ethereum.NETWORKS])
def test_the_genesis_of_a_known_network_has_the_hash_that_everybody_knows(name: str) -> None:
    spec = ChainSpec(find_network(name).genesis)
    assert f"0x{spec.genesis_hash.hex()}" == find_network(name).genesis_hash
    assert spec.chain_id == find_network(name).config["chainId"]
    assert not spec.is_allotted


@pytest.mark.parametrize("name", [network.name for network in ethereum.NETWORKS])
def test_the_final_total_difficulty_is_at_least_the_terminal_one(name: str) -> None:
    spec = ChainSpec(find_network(name).genesis)
    terminal, final = spec.terminal_total_difficulty, final_total_difficulty(spec.genesis_hash)
    assert terminal is not None
    assert final is not None
    assert terminal <= final
    assert final_total_difficulty(bytes(32)) is None


@pytest.mark.parametrize(
    ("name", "timestamp", "fork", "blobs"),
    [
        ("mainnet", 1710338134, "Shanghai", None),
        ("mainnet", 1710338135, "Cancun", (3, 6, 3338477)),
        ("mainnet", 1767747671, "BPO2", (14, 21, 11684671)),
        ("sepolia", 1761607008, "BPO2", (14, 21, 11684671)),
        ("hoodi", 1742999832, "Prague", (6, 9, 5007716)),
    ],
)
def test_forks_and_blobs_begin_when_they_did(
    name: str, timestamp: int, fork: str, blobs: tuple[int, int, int] | None
) -> None:
    spec = ChainSpec(find_network(name).genesis)
    assert spec.fork_name(20_000_000, timestamp) == fork
    assert spec.blob_parameters(timestamp) == blobs


def test_a_full_folder_needs_the_accounts(tmp_path: Path) -> None:
    with pytest.raises(NoAllocationError, match="the genesis has no alloc"):
        Chain.open(tmp_path, find_network("hoodi").genesis, writer=True)
    kind = FolderKind(100, is_light=True)
    with Chain.open(tmp_path, find_network("hoodi").genesis, writer=True, durable=False, kind=kind) as chain:
        assert not chain.has_begun
        assert chain.head.hash == chain.spec.genesis_hash


@pytest.mark.parametrize(
    ("chain_id", "timestamp", "fork", "most"),
    [
        pytest.param(1, 1681338455, "shanghai", None, id="shanghai"),
        pytest.param(1, 1710338135, "cancun", 6, id="cancun"),
        pytest.param(1, 1764798550, "prague", 9, id="the second before osaka"),
        pytest.param(1, 1764798551, "osaka", 9, id="osaka"),
        pytest.param(1, 1765290071, "osaka", 15, id="bpo1"),
        pytest.param(560048, 1762955544, "osaka", 21, id="bpo2"),
    ],
)
def test_the_rules_of_a_known_network_are_those_of_the_time(
    chain_id: int, timestamp: int, fork: str, most: int | None
) -> None:
    network = known_network(chain_id)
    assert network is not None
    found = rules_at(network, timestamp)
    assert found is not None
    assert (found[0], None if found[1] is None else found[1]["max"]) == (fork, most)


def test_other_networks_and_times_have_no_known_rules() -> None:
    assert rules_at(find_network("mainnet"), 1681338454) is None
    assert known_network(31337) is None


def test_a_chain_whose_family_is_not_executed_has_no_full_folder(tmp_path: Path) -> None:
    words = "does not execute blocks of the family op-stack: follow the chain with --light"
    with pytest.raises(UnsupportedExecutionError, match=words):
        Chain.open(tmp_path, find_network("base").genesis, writer=True)


@pytest.mark.parametrize(
    ("name", "family"), [("gnosis", "ethereum"), ("polygon", "polygon"), ("zora", "op-stack")]
)
def test_the_engine_knows_the_family_of_a_chain(name: str, family: str) -> None:
    assert ChainSpec(find_network(name).genesis).family == find_network(name).family == family


def test_a_chain_is_named_in_its_row_and_nowhere_else() -> None:
    package = Path(wsnode.__file__).parent
    sources = {
        path.relative_to(package): path.read_text()
        for suffix in ("py", "rs")
        for path in package.rglob(f"*.{suffix}")
    }
    for network in NETWORKS:
        if network.is_executed:
            continue
        marks = [f'"{network.title}"', *filter(None, [network.genesis_hash])]
        for mark in marks:
            (found,) = [path for path, text in sources.items() if mark in text]
            assert found.parent == Path("ethereum/networks"), mark
