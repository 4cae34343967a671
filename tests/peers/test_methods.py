"""The table of what geth and anvil have and wsnode has not, held against all three."""

import json
import re
import urllib.request
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.ethereum.development.playground import RefusedError, playground
from tests.node_process import PATIENCE
from tests.peers.anvil import started_anvil
from tests.peers.geth import started_geth
from tests.vector_files import CHECKOUT, require_vectors

NAMES: dict[str, list[str]] = json.loads((Path(__file__).parent / "methods.json").read_text())
TABLE = (CHECKOUT / "docs" / "reference/missing.md").read_text()
NOT_FOUND = -32601
AT_ONCE = 400
PREFIXES = ("admin", "anvil", "debug", "erigon", "eth", "evm", "hardhat", "miner", "net", "ots", "personal")
MORE_PREFIXES = ("rpc", "tenderly", "testing", "trace", "txpool", "wallet", "web3")

Send = Callable[[Any], Any]


def listed(section: str) -> list[str]:
    """Return the names in the first columns of a table."""
    (text,) = re.findall(rf"^## {section}$(.*?)(?:^## |\Z)", TABLE, re.M | re.S)
    cells = re.findall(r"^\| (`.*?`) \|", text, re.M)
    return [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the methods of a development chain, which has all that any chain has."""
    with playground(tmp_path_factory.mktemp("methods")) as chain:
        names = {*chain.registry.methods}
    # With a hub: subscriptions and filters.
    made = ("Filter", "BlockFilter", "PendingTransactionFilter")
    names |= {f"eth_new{kind}" for kind in made} | {"eth_subscribe", "eth_unsubscribe"}
    return names | {
        "eth_getFilterChanges",
        "eth_getFilterLogs",
        "eth_uninstallFilter",
        "eth_sendRawTransactionSync",
    }


@pytest.mark.parametrize(("peer", "section"), [("geth 1.17.10", "geth"), ("anvil 1.7.1", "anvil")])
def test_each_method_of_a_peer_is_answered_or_in_the_table(
    answered: set[str], peer: str, section: str
) -> None:
    missing = listed(section)
    assert len(set(missing)) == len(missing)
    unanswered = set(NAMES[peer]) - answered
    assert sorted(set(missing) - unanswered) == [], (
        "docs/reference/missing.md names what is answered, or what no peer has"
    )
    assert sorted(unanswered - set(missing)) == [], "docs/reference/missing.md does not name this"


def test_what_is_in_the_table_does_not_exist(tmp_path: Path) -> None:
    with playground(tmp_path) as chain:
        for name in listed("geth") + listed("anvil"):
            with pytest.raises(RefusedError, match=f"^the method {name} does not exist") as refused:
                chain(name)
            assert refused.value.code == NOT_FOUND


def known(send: Send, names: Iterable[str], at_once: int = AT_ONCE) -> set[str]:
    """Return which of `names` a node has, without calling any: parameters in an object fit none of them."""
    found, left = set[str](), sorted(names)
    while left:
        part, left = left[:at_once], left[at_once:]
        calls = [
            {"jsonrpc": "2.0", "id": index, "method": name, "params": {}} for index, name in enumerate(part)
        ]
        for reply in send(calls):
            # Some look at no parameters at all.
            error = reply.get("error", {"code": 0})
            if error["code"] != NOT_FOUND or "notifications" in error["message"]:
                found.add(part[reply["id"]])
    return found


def candidates(answered: set[str]) -> set[str]:
    """Return all names of the lists and of wsnode, under every prefix."""
    everything = answered.union(*NAMES.values())
    endings = {name.partition("_")[2] for name in everything if not name.startswith("engine_")}
    endings -= {"subscribe", "unsubscribe"}
    return everything | {f"{prefix}_{ending}" for prefix in (*PREFIXES, *MORE_PREFIXES) for ending in endings}


@pytest.mark.slow
def test_geth_has_what_the_list_says(answered: set[str], tmp_path: Path) -> None:
    vectors = require_vectors("execution-apis")
    with started_geth(tmp_path, vectors / "genesis.json", vectors / "chain.rlp") as geth:
        found = known(geth.send, candidates(answered))
        engine = [name for name in NAMES["geth 1.17.10"] if name.startswith("engine_")]
        found |= known(lambda body: geth.send(body, engine=True), engine)
    assert sorted(found) == NAMES["geth 1.17.10"]


@pytest.mark.slow
def test_anvil_has_what_the_list_says(answered: set[str]) -> None:
    with started_anvil() as url:

        def send(body: Any) -> Any:
            headers = {"Content-Type": "application/json"}
            request = urllib.request.Request(url, json.dumps(body).encode(), headers)
            with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
                return json.load(reply)

        # Subscriptions are answered on sockets only.
        # One after another: some of a batch hinder each other there.
        found = known(send, candidates(answered), at_once=1) | {"eth_subscribe", "eth_unsubscribe"}
    assert sorted(found) == NAMES["anvil 1.7.1"]
