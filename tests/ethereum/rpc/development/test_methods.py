"""The methods of development chains: there, documented, described, and nowhere else."""

import inspect
from pathlib import Path

from tests.ethereum.development.playground import Playground
from tests.reply_schemas import vague_places
from tests.vector_files import CHECKOUT
from wsnode.demo.genesis import demo_genesis
from wsnode.demo.run import begin
from wsnode.jsonrpc.registry import Registry
from wsnode.node.assembly import open_network
from wsnode.node.config import Config, NetworkConfig

PREFIXES = ("anvil_", "evm_", "hardhat_", "tenderly_", "wsnode_reorg", "personal_")


def only_here(registry: Registry, plain: Registry) -> list[str]:
    return sorted(registry.methods.keys() - plain.methods.keys())


def plain_registry(folder: Path) -> Registry:
    begin(folder, demo_genesis())
    told = NetworkConfig(str(folder))
    with open_network("plain", told, Config(networks={"plain": told}, open=True)) as network:
        return network.registry


def test_other_networks_have_none_of_them(chain: Playground, tmp_path: Path) -> None:
    plain = plain_registry(tmp_path / "plain")
    assert [name for name in plain.methods if name.startswith(PREFIXES)] == []
    own = only_here(chain.registry, plain)
    more = {"eth_sendTransaction", "eth_signTransaction", "eth_sign", "eth_coinbase"}
    more |= {f"eth_signTypedData{version}" for version in ("", "_v3", "_v4")}
    more |= {"eth_sendUnsignedTransaction", "eth_sendTransactionSync", "eth_requestAccounts"}
    assert set(own) == more | {name for name in chain.registry.methods if name.startswith(PREFIXES)}


def test_each_is_documented_and_says_what_it_returns(chain: Playground, tmp_path: Path) -> None:
    text = (CHECKOUT / "docs" / "reference/controls.md").read_text()
    own = only_here(chain.registry, plain_registry(tmp_path / "plain"))
    assert [name for name in own if name not in text] == []
    assert [name for name in own if not inspect.getdoc(chain.registry.methods[name].function)] == []


def test_what_they_take_and_return_is_described(chain: Playground) -> None:
    document = chain("rpc.discover")
    assert {method["name"] for method in document["methods"]} == set(chain.registry.methods)
    assert vague_places(document) == []
