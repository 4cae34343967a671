"""Parameters, errors, names and the pending block."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.memory_transport import Conversation
from tests.starknet.conftest import Call, caller_of
from tests.starknet.models import state_updates
from tests.vector_files import CHECKOUT
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.live.hub import StarknetHub
from wsnode.starknet.rpc.methods import build_registry

ADDRESS = "0x20cfa74ee3564b4cd5435cdace0f9c4d43b939620e4a0bb5076105df0a626c6"
CLASS = "0x10455c752b86932ce552f2b0fe81a880746649b9aee7e0d842bf3f52378f9f8"


def test_the_block_is_judged_before_the_contract(call: Call) -> None:
    nowhere = {"block_id": {"block_number": 10}, "contract_address": "0x5"}
    assert call("alt_getClassAt", nowhere) == {"code": 24, "message": "Block not found"}
    here = {"block_id": "latest", "contract_address": "0x5"}
    assert call("alt_getClassAt", here) == {"code": 20, "message": "Contract not found"}


@pytest.mark.parametrize("method", ["getClassAt", "getClassHashAt", "getNonce"])
@pytest.mark.parametrize("address", ["0x1", "0x2", "0x0", "0x5"])
def test_system_addresses_have_no_class_and_no_nonce(call: Call, method: str, address: str) -> None:
    assert call(f"starknet_{method}", ["latest", address])["code"] == 20


class Gate:
    """Takes note of the contracts that calls name."""

    def __init__(self) -> None:
        self.named: list[int | None] = []

    def admit(self, name: str) -> None:
        """Admit all."""

    def charge(self) -> None:
        """Charge nothing."""

    def check_contracts(self, contracts: Iterable[int] | None) -> None:
        """Note the contracts, None for any."""
        self.named += [None] if contracts is None else contracts


@pytest.mark.parametrize(
    ("method", "params", "named"),
    [
        ("starknet_getClassHashAt", ["latest", ADDRESS], [int(ADDRESS, 16)]),
        ("starknet_getStorageAt", ["0x1", "0x5", "latest"], [1]),
        ("starknet_getEvents", [{"chunk_size": 1, "address": ["0x1", "0x2"]}], [1, 2]),
        ("starknet_getEvents", [{"chunk_size": 1, "address": "0x3"}], [3]),
        ("starknet_getEvents", [{"chunk_size": 1, "address": []}], [None]),
        ("starknet_getEvents", [{"chunk_size": 1}], [None]),
    ],
)
def test_the_contracts_of_a_call_are_those_that_a_key_may_be_restricted_to(
    chain: StarknetChain, method: str, params: list[Any], named: list[int | None]
) -> None:
    gate = Gate()
    session = Conversation(Dispatcher(build_registry(), chain.snapshot), None, gate=gate)
    session.receive(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())
    session.end_turn()
    assert gate.named == named


def test_system_addresses_have_storage(call: Call) -> None:
    assert call("starknet_getStorageAt", ["0x1", "0x5", "latest"]) == "0x0"
    assert call("starknet_getStorageAt", ["0x5", "0x5", "latest"])["code"] == 20


@pytest.mark.parametrize(
    "block_id",
    [
        None,
        "",
        "earliest",
        "LATEST",
        "l1_accepted",
        "0x1",
        5,
        [],
        {},
        {"block_number": -1},
        {"block_number": "0x1"},
        {"block_number": True},
        {"block_number": 1.5},
        {"block_number": 2**64},
        {"block_hash": 5},
        {"block_hash": "1234"},
        {"block_hash": "0x" + "f" * 64},
        {"block_hash": None},
    ],
    ids=json.dumps,
)
def test_a_block_id_that_names_nothing_is_an_invalid_param(call: Call, block_id: Any) -> None:
    for name in ("alt_getStateUpdate", "starknet_getStateUpdate"):
        answered = call(name, {"block_id": block_id})
        assert (answered["code"], answered["message"]) == (-32602, "Invalid params")
        assert answered["data"]["reason"]


@pytest.mark.parametrize("params", [None, {}, {"block_id": "latest"}, {"contract_address": ADDRESS}])
def test_parameters_that_are_missing_are_named(call: Call, params: Any) -> None:
    answered = call("alt_getClassAt", params)
    assert answered["code"] == -32602
    assert "missing required field" in answered["data"]["reason"]


def test_alt_takes_names_only_and_starknet_takes_positions_too(call: Call) -> None:
    assert call("starknet_getClassHashAt", ["latest", ADDRESS]) == CLASS
    assert call("starknet_getClassHashAt", {"contract_address": ADDRESS, "block_id": "latest"}) == CLASS
    assert call("alt_getClassHashAt", {"contract_address": ADDRESS, "block_id": "latest"}) == CLASS
    assert call("alt_getClassHashAt", ["latest", ADDRESS])["code"] == -32602
    assert call("starknet_getClassHashAt", ["latest", ADDRESS, 1])["code"] == -32602


def test_of_number_and_hash_the_number_counts(call: Call) -> None:
    answered = call("alt_getStateUpdate", {"block_id": {"block_number": 3, "block_hash": "0x5"}})
    assert answered == call("alt_getStateUpdate", {"block_id": {"block_number": 3}})


@pytest.mark.parametrize("prefix", ["alt", "starknet"])
def test_the_head_and_the_chain_are_told(call: Call, prefix: str) -> None:
    nine = "0x31e5a5851e1a492827ba33180acb98263d1ace0f46fd4000bd4216d2119d480"
    assert call(f"{prefix}_blockNumber") == 9
    assert call(f"{prefix}_blockHashAndNumber", {}) == {"block_hash": nine, "block_number": 9}
    assert call(f"{prefix}_chainId") == "0x" + b"SN_MAIN".hex()
    assert call(f"{prefix}_specVersion", {}) == "0.10.3"
    assert call(f"{prefix}_syncing") is False
    assert call(f"{prefix}_blockNumber", {"x": 1})["code"] == -32602


def test_an_empty_chain_has_no_blocks(fresh: StarknetChain) -> None:
    call = caller_of(fresh)
    assert call("alt_blockNumber") == {"code": 32, "message": "There are no blocks"}
    assert call("alt_blockHashAndNumber")["code"] == 32
    assert call("alt_getStateUpdate", {"block_id": "latest"})["code"] == 24
    assert call("alt_getStateUpdate", {"block_id": "pending"})["code"] == 24
    assert call("alt_chainId")["code"] == -32000


def test_a_class_is_known_from_the_block_that_names_it(call: Call, classes: Path) -> None:
    assert "program" in call("alt_getClass", {"block_id": {"block_number": 0}, "class_hash": CLASS})
    unknown = call("alt_getClass", {"block_id": "latest", "class_hash": "0x1"})
    assert unknown == {"code": 28, "message": "Class hash not found"}


def test_a_filter_keeps_what_concerns_its_contracts(call: Call) -> None:
    whole = call("alt_getStateUpdate", {"block_id": {"block_number": 0}})
    some = call(
        "alt_getStateUpdate",
        {"block_id": {"block_number": 0}, "contract_addresses": [ADDRESS.upper().replace("X", "x")]},
    )
    rows = [row for row in whole["state_diff"]["storage_diffs"] if row["address"] == ADDRESS]
    assert some["state_diff"]["storage_diffs"] == rows != []
    assert [item["address"] for item in some["state_diff"]["deployed_contracts"]] == [ADDRESS]
    empty = {"block_id": {"block_number": 0}, "contract_addresses": []}
    assert call("alt_getStateUpdate", empty) == whole


@pytest.mark.parametrize("tag", ["pending", "pre_confirmed"])
def test_the_pending_block_changes_nothing_on_top_of_the_head(call: Call, mainnet: Path, tag: str) -> None:
    head_root = state_updates(mainnet)[9]["new_root"]
    answered = call("starknet_getStateUpdate", [tag])
    assert set(answered) == {"old_root", "state_diff"}
    assert answered["old_root"] == head_root
    assert all(members == [] for members in answered["state_diff"].values())
    assert call("alt_getStateUpdate", {"block_id": tag}).keys() == {"old_root", "state_diff"}
    assert call("starknet_getClassHashAt", [tag, ADDRESS]) == CLASS


@pytest.mark.parametrize("tag", ["pending", "pre_confirmed"])
def test_the_pending_block_knows_the_classes_of_the_head(call: Call, classes: Path, tag: str) -> None:
    assert "program" in call("starknet_getClassAt", [tag, ADDRESS])


def test_every_method_is_documented(chain: StarknetChain) -> None:
    page = (CHECKOUT / "docs" / "reference/starknet.md").read_text()
    documented = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert {name.partition("_")[2] for name in build_registry(hub=StarknetHub(chain)).methods} <= documented
