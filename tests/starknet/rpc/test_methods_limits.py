"""The bounds of this family's methods, as the documentation and `rpc_limits` have them."""

import re

from tests.vector_files import CHECKOUT
from wsnode.node.networks import starknet_network
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.live.hub import StarknetHub
from wsnode.starknet.rpc.methods import STARKNET_LIMITS

ROW = re.compile(r"^\| `(starknet_\w+)` \| ([\d,]+) \|", re.MULTILINE)


def test_the_documentation_has_the_bounds() -> None:
    page = (CHECKOUT / "docs/reference/starknet.md").read_text()
    told = {name: int(value.replace(",", "")) for name, value in ROW.findall(page)}
    assert told == STARKNET_LIMITS


def test_a_network_shows_them(fresh: StarknetChain) -> None:
    network = starknet_network("test", (), fresh, None, fresh.folder, hub=StarknetHub(fresh))
    assert network.limits == STARKNET_LIMITS
