"""Methods that only an upstream could answer: what is checked here, and what their replies look like."""

import copy
import json
from typing import Any

import pytest

from tests.reply_schemas import ReplySchemas, document_of
from tests.starknet.conftest import caller_of
from wsnode.jsonrpc.errors import RpcError
from wsnode.starknet.block_id import BlockId
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.rpc.forwarded.params import (
    MAX_DECLARED_VALUES,
    MAX_ENTRY_POINTS,
    MAX_FORWARDED_FELTS,
    MAX_FORWARDED_TRANSACTIONS,
    MAX_PROGRAM_FELTS,
)
from wsnode.starknet.rpc.methods import build_registry
from wsnode.starknet.rpc.params import MAX_FLAGS

jsonschema = pytest.importorskip("jsonschema", reason="replies are validated with jsonschema")
REQUEST = {"contract_address": "0x1", "entry_point_selector": "0x2", "calldata": ["0x3"]}
FIRST = {"block_number": 0}
SENT = {"type": "INVOKE", "version": "0x3", "calldata": ["0x01"]}
REGISTRY = build_registry()
METHODS = REGISTRY.methods
DOCUMENT = ReplySchemas(document_of(REGISTRY))
INVOCATION: dict[str, Any] = REQUEST | {
    "caller_address": "0x0",
    "class_hash": "0x5",
    "entry_point_type": "EXTERNAL",
    "call_type": "CALL",
    "result": ["0x1"],
    "calls": [],
    "events": [{"order": 0, "keys": ["0x9"], "data": []}],
    "messages": [{"order": 0, "from_address": "0x1", "to_address": "0x2", "payload": ["0x3"]}],
    "execution_resources": {"l1_gas": 0, "l2_gas": 4000},
    "is_reverted": False,
}
TRACE: dict[str, Any] = {
    "type": "INVOKE",
    "validate_invocation": INVOCATION,
    "execute_invocation": INVOCATION | {"calls": [INVOCATION]},
    "execution_resources": {"l1_gas": 0, "l1_data_gas": 128, "l2_gas": 9000},
}
FEE = {
    "l1_gas_consumed": "0x0",
    "l1_gas_price": "0x1",
    "l2_gas_consumed": "0x2",
    "l2_gas_price": "0x3",
    "l1_data_gas_consumed": "0x4",
    "l1_data_gas_price": "0x5",
    "overall_fee": "0x6",
    "unit": "FRI",
}
SIMULATED = [{"transaction_trace": TRACE, "fee_estimation": FEE}]
READS = {
    "storage": [{"contract_address": "0x1", "key": "0x2", "value": "0x3"}],
    "nonces": [{"contract_address": "0x1", "nonce": "0x2"}],
    "class_hashes": [{"contract_address": "0x1", "class_hash": "0x2"}],
    "declared_contracts": [{"class_hash": "0x1", "is_declared": True}],
}
CELL = {"register": "AP", "offset": -1}
COMPILED = {
    "prime": "0x800000000000011000000000000000000000000000000000000000000000001",
    "compiler_version": "2.11.4",
    "bytecode": ["0xa0680017fff8000"],
    "hints": [
        [
            0,
            [
                {
                    "TestLessThanOrEqual": {
                        "lhs": {"Immediate": "0x0"},
                        "rhs": {"DoubleDeref": [CELL, 2]},
                        "dst": CELL,
                    }
                }
            ],
        ]
    ],
    "entry_points_by_type": {
        "CONSTRUCTOR": [],
        "EXTERNAL": [{"offset": 0, "selector": "0x1", "builtins": ["range_check"]}],
        "L1_HANDLER": [],
    },
}
REPLIES: list[tuple[str, Any]] = [
    ("call", ["0x1"]),
    ("estimateFee", [FEE]),
    ("estimateMessageFee", FEE | {"unit": "WEI"}),
    ("simulateTransactions", SIMULATED),
    ("simulateTransactions", {"simulated_transactions": SIMULATED, "initial_reads": READS}),
    ("traceTransaction", TRACE),
    ("traceTransaction", TRACE | {"execute_invocation": {"revert_reason": "Out of gas"}}),
    ("traceBlockTransactions", [{"transaction_hash": "0x1", "trace_root": TRACE}]),
    (
        "traceBlockTransactions",
        {"traces": [{"transaction_hash": "0x1", "trace_root": TRACE}], "initial_reads": READS},
    ),
    ("getCompiledCasm", COMPILED),
    (
        "getMessagesStatus",
        [{"transaction_hash": "0x1", "finality_status": "ACCEPTED_ON_L2", "execution_status": "SUCCEEDED"}],
    ),
    ("addInvokeTransaction", {"transaction_hash": "0x1"}),
    ("addDeclareTransaction", {"transaction_hash": "0x1", "class_hash": "0x2"}),
    ("addDeployAccountTransaction", {"transaction_hash": "0x1", "contract_address": "0x2"}),
]


def test_a_chain_that_follows_nobody_refuses(fresh: StarknetChain) -> None:
    call = caller_of(fresh)
    for name in ("traceTransaction", "getMessagesStatus"):
        assert call(f"starknet_{name}", ["0x1"]) == {
            "code": -32000,
            "message": "no upstream is configured, and this node executes no Cairo",
        }
    assert call("starknet_call", [REQUEST, "latest"])["code"] == 24
    assert call("starknet_addInvokeTransaction", [])["code"] == -32602


def declared(program: int, entry_points: int) -> list[Any]:
    return [
        {
            "type": "DECLARE",
            "contract_class": {
                "sierra_program": ["0x0"] * program,
                "entry_points_by_type": {"EXTERNAL": [{}] * entry_points},
            },
        }
    ]


@pytest.mark.parametrize(
    ("method", "largest", "beyond", "reason"),
    [
        pytest.param(
            "estimateFee",
            [[SENT] * MAX_FORWARDED_TRANSACTIONS, [], FIRST],
            [[SENT] * (MAX_FORWARDED_TRANSACTIONS + 1), [], FIRST],
            "too many transactions: 101, want at most 100",
            id="estimated transactions",
        ),
        pytest.param(
            "simulateTransactions",
            [FIRST, [SENT], ["SKIP_VALIDATE"] * MAX_FLAGS],
            [FIRST, [SENT], ["SKIP_VALIDATE"] * (MAX_FLAGS + 1)],
            "too many simulation flags: 17, want at most 16",
            id="simulation flags",
        ),
        pytest.param(
            "traceBlockTransactions",
            [FIRST, ["RETURN_INITIAL_READS"] * MAX_FLAGS],
            [FIRST, ["RETURN_INITIAL_READS"] * (MAX_FLAGS + 1)],
            "too many trace flags: 17, want at most 16",
            id="trace flags",
        ),
        pytest.param(
            "call",
            [REQUEST | {"calldata": ["0x3"] * MAX_FORWARDED_FELTS}, FIRST],
            [REQUEST | {"calldata": ["0x3"] * (MAX_FORWARDED_FELTS + 1)}, FIRST],
            "too many items of calldata: 10001, want at most 10000",
            id="calldata",
        ),
        pytest.param(
            "simulateTransactions",
            [FIRST, [SENT, SENT | {"signature": ["0x3"] * MAX_FORWARDED_FELTS}], []],
            [FIRST, [SENT, SENT | {"signature": ["0x3"] * (MAX_FORWARDED_FELTS + 1)}], []],
            "too many items of signature: 10001, want at most 10000",
            id="a signature in a list",
        ),
        pytest.param(
            "addDeclareTransaction",
            declared(MAX_PROGRAM_FELTS, 0),
            declared(MAX_PROGRAM_FELTS + 1, 0),
            "too many items of sierra_program: 681575, want at most 681574",
            id="a program",
        ),
        pytest.param(
            "addDeclareTransaction",
            declared(1, MAX_ENTRY_POINTS),
            declared(1, MAX_ENTRY_POINTS + 1),
            f"too many items of EXTERNAL: {MAX_ENTRY_POINTS + 1}, want at most {MAX_ENTRY_POINTS}",
            id="entry points",
        ),
    ],
)
def test_a_list_is_passed_on_up_to_its_bound(
    method: str, largest: list[Any], beyond: list[Any], reason: str
) -> None:
    parameters = METHODS[f"starknet_{method}"].parameters
    read = parameters.read(json.dumps(largest).encode())
    given = [getattr(read, name) for name in read.__struct_fields__]
    # A block is no JSON any more.
    assert [
        list(own) if isinstance(own, tuple) else own for own in given if not isinstance(own, BlockId)
    ] == [value for value in largest if value is not FIRST]
    with pytest.raises(RpcError) as refused:
        parameters.read(json.dumps(beyond).encode())
    assert refused.value.code == -32602
    assert refused.value.data["reason"].startswith(reason)


@pytest.mark.parametrize(
    ("method", "params", "reason"),
    [
        ("estimateFee", [[SENT], ["SKIP_FEE_CHARGE"], FIRST], "a simulation flag is one of SKIP_VALIDATE"),
        ("simulateTransactions", [FIRST, [SENT], ["x"]], "a simulation flag is one of SKIP_VALIDATE, SKIP_"),
        ("traceBlockTransactions", [FIRST, ["x"]], "a trace flag is one of RETURN_INITIAL_READS"),
        ("estimateFee", [{}, [], FIRST], "transactions are an array"),
        ("estimateFee", [["0x1"], [], FIRST], "what is passed on is an object"),
        ("call", [[], FIRST], "what is passed on is an object"),
        ("getMessagesStatus", ["0x" + "f" * 65], "Expected `str` matching regex"),
    ],
)
def test_parameters_of_another_shape_are_refused_here(
    fresh: StarknetChain, method: str, params: list[Any], reason: str
) -> None:
    refused = caller_of(fresh)(f"starknet_{method}", params)
    assert refused["code"] == -32602
    assert refused["data"]["reason"].startswith(reason)


def test_a_hash_of_l1_need_not_be_a_felt(fresh: StarknetChain) -> None:
    assert caller_of(fresh)("starknet_getMessagesStatus", ["0x" + "f" * 64])["code"] == -32000


@pytest.mark.parametrize("family", ["alt", "starknet"])
@pytest.mark.parametrize(("method", "reply"), REPLIES)
def test_the_document_describes_the_replies_of_the_specification(
    family: str, method: str, reply: Any
) -> None:
    DOCUMENT.validate(f"{family}_{method}", reply)


def required_members(value: Any) -> list[tuple[Any, ...]]:
    """Return the ways to the members of the outermost object of a reply."""
    if isinstance(value, list):
        return [(0, *way) for way in required_members(value[0])] if isinstance(value[0], dict) else [(0,)]
    return [(name,) for name in value if name != "validate_invocation"]


@pytest.mark.parametrize(("method", "reply"), REPLIES)
def test_the_document_refuses_a_reply_that_lacks_a_member(method: str, reply: Any) -> None:
    for *way, last in required_members(reply):
        spoilt = copy.deepcopy(reply)
        inner = spoilt
        for step in way:
            inner = inner[step]
        if isinstance(inner, list):
            inner[last] = None
        else:
            del inner[last]
        with pytest.raises(jsonschema.ValidationError):
            DOCUMENT.validate(f"starknet_{method}", spoilt)


@pytest.mark.parametrize(
    ("method", "params", "reason"),
    [
        ("addDeclareTransaction", declared(100_001, 0), None),
        ("addDeclareTransaction", declared(MAX_PROGRAM_FELTS, 0), None),
        ("estimateFee", [declared(100_001, 0), [], FIRST], None),
        ("simulateTransactions", [FIRST, declared(100_001, 0), []], None),
        (
            "addDeclareTransaction",
            declared(MAX_PROGRAM_FELTS + 1, 0),
            f"too many items of sierra_program: {MAX_PROGRAM_FELTS + 1}",
        ),
        (
            "addDeclareTransaction",
            [{"type": "DECLARE", "nonce": ["0x0"] * MAX_DECLARED_VALUES}],
            f"the parameters have too many values, want at most {MAX_DECLARED_VALUES}",
        ),
        (
            "addInvokeTransaction",
            [{"type": "INVOKE", "nonce": ["0x0"] * 100_001}],
            "the parameters have too many values, want at most 100000",
        ),
    ],
    ids=["more than 100,000", "the largest", "estimated", "simulated", "too large", "too many", "no class"],
)
def test_a_class_is_counted_by_its_own_bound(
    fresh: StarknetChain, method: str, params: list[Any], reason: str | None
) -> None:
    answer = caller_of(fresh)(f"starknet_{method}", params)
    if reason is None:
        assert answer["code"] == -32000
        assert answer["message"].startswith("no upstream is configured")
        return
    assert answer["code"] == -32602
    assert reason in json.dumps(answer)
