import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.starknet.models import ordered
from tests.vector_files import require_vectors
from wsnode.starknet.block import InvalidStateDiffError, StateDiff
from wsnode.starknet.diff_json import (
    decode_flat,
    decode_state_diff,
    filtered,
    flat_diff,
    nested_diff,
    state_diff,
)
from wsnode.starknet.felt import PRIME

felts = st.integers(0, PRIME - 1).map(lambda number: number.to_bytes(32, "big"))
pairs = st.dictionaries(felts, felts, max_size=4).map(lambda items: sorted(items.items()))
diffs = st.builds(
    StateDiff,
    storage=st.dictionaries(st.tuples(felts, felts), felts, max_size=6).map(
        lambda slots: sorted((address, key, value) for (address, key), value in slots.items())
    ),
    deployed=pairs,
    replaced=pairs,
    nonces=pairs,
    declared=pairs,
    migrated=pairs,
    deprecated=st.sets(felts, max_size=3).map(sorted),
)


def built(**members: Any) -> StateDiff:
    return decode_state_diff(json.dumps({"storage_diffs": [], **members}).encode())


@given(diffs)
def test_a_diff_comes_back_from_its_stored_text(diff: StateDiff) -> None:
    assert state_diff(decode_flat(msgspec.json.encode(flat_diff(diff)))) == diff


@given(diffs)
def test_a_diff_comes_back_from_the_nested_form_that_nodes_answer(diff: StateDiff) -> None:
    assert decode_state_diff(msgspec.json.encode(nested_diff(flat_diff(diff)))) == diff


def test_a_real_reply_comes_out_as_it_went_in() -> None:
    reply = json.loads(require_vectors("starknet/rpc/state_update_sepolia_3100000.json").read_text())[
        "result"
    ]
    diff = decode_state_diff(json.dumps(reply["state_diff"]).encode())
    answered = json.loads(msgspec.json.encode(nested_diff(flat_diff(diff))))
    assert reply["state_diff"].pop("migrated_compiled_classes") == []
    assert ordered(answered) == ordered(reply["state_diff"])


def test_lists_are_sorted_by_value_and_not_by_text() -> None:
    diff = built(deprecated_declared_classes=["0x10", "0x9", "0x09", "0xA"])
    assert flat_diff(diff).deprecated_declared_classes == ["0x9", "0xa", "0x10"]


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        (
            {"storage_diffs": {"0x1": [{"key": "0x2", "value": "0x3"}, {"key": "0x02", "value": "0x4"}]}},
            "storage 0x1 key 0x2 is written twice",
        ),
        ({"nonces": [{"contract_address": "0x1", "nonce": "0x1"}] * 2}, "nonces names 0x1 twice"),
        (
            {"deployed_contracts": [{"address": "0x5", "class_hash": "0x1"}] * 2},
            "deployed_contracts names 0x5 twice",
        ),
        ({"nonces": [{"contract_address": "0x1", "nonce": "1"}]}, "a felt is a hex number"),
        ({"storage_diffs": 5}, "Expected `array`"),
        ({"declared_classes": [{"class_hash": "0x1"}]}, "compiled_class_hash"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_diff_that_contradicts_itself_is_refused(members: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidStateDiffError, match=reason):
        built(**members)


def test_a_filter_leaves_declared_classes_alone() -> None:
    diff = built(
        storage_diffs=[
            {"address": "0x1", "storage_entries": [{"key": "0x1", "value": "0x1"}]},
            {"address": "0x2", "storage_entries": [{"key": "0x1", "value": "0x1"}]},
        ],
        deployed_contracts=[{"address": "0x2", "class_hash": "0x7"}],
        replaced_classes=[{"contract_address": "0x3", "class_hash": "0x8"}],
        nonces=[{"contract_address": "0x2", "nonce": "0x1"}],
        declared_classes=[{"class_hash": "0x7", "compiled_class_hash": "0x70"}],
        deprecated_declared_classes=["0x8"],
    )
    kept = filtered(flat_diff(diff), {"0x1", "0x3"})
    assert [row.address for row in kept.storage_diffs] == ["0x1"]
    assert kept.deployed_contracts == []
    assert kept.nonces == []
    assert [item.contract_address for item in kept.replaced_classes] == ["0x3"]
    assert len(kept.declared_classes) == len(kept.deprecated_declared_classes) == 1


def test_only_an_empty_list_of_migrated_classes_is_left_out() -> None:
    assert b"migrated" not in msgspec.json.encode(flat_diff(built()))
    migrated = built(migrated_compiled_classes=[{"class_hash": "0x1", "compiled_class_hash": "0x2"}])
    assert b"migrated_compiled_classes" in msgspec.json.encode(nested_diff(flat_diff(migrated)))
