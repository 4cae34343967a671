"""What tools recognise a development chain by."""

import re

import pytest

from tests.ethereum.development.playground import Playground

# The prefixes of hardhat-network-helpers 3, in lower case.
HARDHAT_HELPERS = ("hardhat", "zksync", "anvil")


def test_tools_take_it_for_one_and_people_see_what_it_is(chain: Playground) -> None:
    version = chain("web3_clientVersion")
    assert version.lower().startswith(HARDHAT_HELPERS)
    # OpenZeppelin's upgrades compare the first part; others read the second as a version.
    name, release, *rest = version.split("/")
    assert name == "anvil"
    assert re.fullmatch(r"v\d+\.\d+\.\d+", release)
    assert re.fullmatch(r"wsnode/v[^/]+/[^/]+/python[^/]+", "/".join(rest))


@pytest.mark.parametrize("method", ["hardhat_metadata", "anvil_metadata"])
def test_the_metadata_agree(chain: Playground, method: str) -> None:
    assert chain(method)["clientVersion"] == chain("web3_clientVersion")
