from pathlib import Path

import pytest

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.networks import NETWORKS, final_total_difficulty
from wsnode.ethereum.state import ChainSpec
from wsnode.ethereum.storage.errors import NoAllocationError
from wsnode.ethereum.storage.kind import Kind


@pytest.mark.parametrize("name", NETWORKS)
def test_the_genesis_of_a_known_network_has_the_hash_that_everybody_knows(name: str) -> None:
    spec = ChainSpec(NETWORKS[name].genesis)
    assert f"0x{spec.genesis_hash.hex()}" == NETWORKS[name].genesis_hash
    assert spec.chain_id == NETWORKS[name].config["chainId"]
    assert not spec.is_allotted


@pytest.mark.parametrize("name", NETWORKS)
def test_the_final_total_difficulty_is_at_least_the_terminal_one(name: str) -> None:
    spec = ChainSpec(NETWORKS[name].genesis)
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
    spec = ChainSpec(NETWORKS[name].genesis)
    assert spec.fork_name(20_000_000, timestamp) == fork
    assert spec.blob_parameters(timestamp) == blobs


def test_a_full_folder_needs_the_accounts(tmp_path: Path) -> None:
    with pytest.raises(NoAllocationError, match="the genesis has no alloc"):
        Chain.open(tmp_path, NETWORKS["hoodi"].genesis, writer=True)
    kind = Kind(100, is_light=True)
    with Chain.open(tmp_path, NETWORKS["hoodi"].genesis, writer=True, durable=False, kind=kind) as chain:
        assert not chain.has_begun
        assert chain.head.hash == chain.spec.genesis_hash
