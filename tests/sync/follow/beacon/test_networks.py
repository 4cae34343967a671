"""Beacon chains of public networks, against a mainnet node's own configuration and what it signed."""

import pytest

from tests.conformance.test_light_client import FORKS, answer_of, read, summary, unprefixed
from tests.vector_files import require_vectors
from wsnode.ethereum.networks.table import NETWORKS
from wsnode.sync.follow.beacon.light_client import LightClient
from wsnode.sync.follow.beacon.networks import CHAINS


def test_the_row_of_mainnet_is_that_of_a_mainnet_node() -> None:
    vector = read(require_vectors("beacon/fetched/mainnet/mainnet-capella.json"))
    config, chain = vector["network"], CHAINS[1]
    assert chain.genesis_validators_root == vector["genesis_validators_root"]
    assert (chain.committee_size, chain.slots_per_epoch, chain.epochs_per_period) == (512, 32, 256)
    for name, epoch, version in zip(FORKS, chain.epochs, chain.versions[1:], strict=False):
        if f"{name.upper()}_FORK_EPOCH" in config:
            assert epoch == int(config[f"{name.upper()}_FORK_EPOCH"])
            assert version == int(config[f"{name.upper()}_FORK_VERSION"], 16)


def test_what_mainnet_signed_is_taken_with_the_row_of_mainnet() -> None:
    vector = read(require_vectors("beacon/fetched/mainnet/mainnet-capella.json"))
    client = LightClient.bootstrap(
        CHAINS[1].network, unprefixed(vector["checkpoint"]), answer_of(vector["bootstrap"])
    )
    for step in vector["steps"]:
        client, _ = client.take(step["kind"], answer_of(step), int(step["current_slot"]))
    assert summary(client) == vector["steps"][-1]["wsnode"]["store"]


@pytest.mark.parametrize("chain_id", CHAINS)
def test_a_row_is_of_a_known_chain_and_a_network_of_the_light_client(chain_id: int) -> None:
    chain = CHAINS[chain_id]
    row = next(network for network in NETWORKS if network.chain_id == chain_id)
    assert row.seconds * 1000 == chain.slot_milliseconds
    network = chain.network
    assert network.slot_at(chain.genesis_time * 1000) == 0
    assert network.fork((chain.epochs[-1]) * chain.slots_per_epoch) == FORKS[len(chain.epochs) - 1]
