"""Whatever is sent or found in a dump, the answer is an error in words, never a bug."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.starknet.conftest import Call
from wsnode.starknet.classes.decode import decode_class
from wsnode.starknet.classes.definition import NotAClassError
from wsnode.starknet.dump.documents import read_document
from wsnode.starknet.rpc.methods import build_registry

WORDS = [
    "latest",
    "pending",
    "0x1",
    "0x",
    "0x0" + "f" * 63,
    "-0x1",
    "",
    "l1_accepted",
    "0x20cfa74ee3564b4cd5435cdace0f9c4d43b939620e4a0bb5076105df0a626c6",
    "0x10455c752b86932ce552f2b0fe81a880746649b9aee7e0d842bf3f52378f9f8",
]
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)
values = st.recursive(
    scalars | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["block_number", "block_hash", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = ["block_id", "contract_address", "class_hash", "key", "contract_addresses", "response_flags", "other"]
TOLD = {20, 24, 28, 32, -32000, -32602}
METHODS = sorted(build_registry().methods)
relaxed = settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@relaxed
@given(
    params=st.dictionaries(st.sampled_from(NAMES), values, max_size=5) | st.lists(values, max_size=5) | values
)
def test_any_parameters_get_a_result_or_a_told_error(call: Call, method: str, params: Any) -> None:
    answered = call(method, params)
    if isinstance(answered, dict) and "code" in answered and "class_hash" not in answered.get("data", ()):
        assert answered["code"] in TOLD, answered


MEMBERS = [
    "block",
    "state_update",
    "result",
    "state_diff",
    "block_hash",
    "new_root",
    "old_root",
    "block_number",
    "parent_hash",
    "storage_diffs",
    "nonces",
    "sierra_program",
    "program",
    "data",
    "builtins",
    "hints",
    "attributes",
    "abi",
    "entry_points_by_type",
    "EXTERNAL",
    "contract_class_version",
    "classes",
]
documents = st.recursive(
    scalars | st.sampled_from([*WORDS, "0x5", {}, []]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=6),
    max_leaves=20,
)


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(documents)
def test_any_document_is_something_or_other(document: Any) -> None:
    assert read_document(json.dumps(document).encode()) is not None


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(documents)
def test_any_document_is_a_class_or_refused(document: Any) -> None:
    with contextlib.suppress(NotAClassError):
        assert decode_class(json.dumps(document).encode()).rendered


@pytest.mark.parametrize("opening", ["[", '{"result":', '{"program":{"data":'])
def test_a_document_nested_without_end_is_refused(opening: str) -> None:
    text = opening.encode() * 100_000
    assert read_document(text).other
    with pytest.raises(NotAClassError):
        decode_class(text)


def test_a_program_nested_too_deep_is_refused() -> None:
    program = '{"data":[],"builtins":[],"hints":{},"identifiers":' + '{"a":' * 100_000 + "1" + "}" * 100_001
    with pytest.raises(NotAClassError):
        decode_class(f'{{"program":{program},"entry_points_by_type":{{}}}}'.encode())
