"""A key that may name some contracts only: which calls name which."""

import json
import tracemalloc
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory_transport import Conversation
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc.calls.message import targets
from wsnode.ethereum.rpc.calls.overrides import decode_state_overrides
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.state import sign_transaction
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import RpcError

ONE, TWO = "0x" + "01" * 20, "0x" + "02" * 20
HASH = "0x" + "00" * 32


def raw(to: str | None) -> str:
    """Return a signed transaction for an account, or a creation."""
    target = None if to is None else bytes.fromhex(to[2:])
    encoded = sign_transaction(
        b"\x01" * 32,
        chain_id=1,
        nonce=0,
        to=target,
        value=0,
        input=b"",
        gas=21_000,
        max_fee=7,
        max_priority_fee=0,
    )
    return f"0x{encoded.hex()}"


class OnlyOne:
    def admit(self, name: str) -> None:
        pass

    def charge(self) -> None: ...

    def check_contracts(self, contracts: Iterable[int] | None) -> None:
        if contracts is None or any(contract != int(ONE, 16) for contract in contracts):
            raise RpcError(-32600, "not allowed")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "params", "allowed"),
    [
        ("eth_getBalance", [TWO, "latest"], True),
        ("eth_getTransactionCount", [TWO], True),
        ("eth_getCode", [ONE], True),
        ("eth_getCode", [TWO], False),
        ("eth_getStorageAt", [ONE, "0x0", "latest"], True),
        ("eth_getStorageAt", [TWO, "0x0", "latest"], False),
        ("eth_getProof", [TWO, [], "latest"], False),
        ("eth_getStorageValues", [{ONE: [HASH]}], True),
        ("eth_getStorageValues", [{ONE: [HASH], TWO: [HASH]}], False),
        ("eth_call", [{"to": ONE}], True),
        ("eth_call", [{"to": TWO}], False),
        ("eth_call", [{"data": "0x00"}], False),
        ("eth_call", [{"to": ONE}, "latest", {ONE: {"balance": "0x1"}}], True),
        ("eth_call", [{"to": ONE}, "latest", {TWO: {"balance": "0x1"}}], False),
        ("eth_call", [{"to": ONE}, "latest", {ONE: {"code": "0x00"}}], False),
        ("eth_estimateGas", [{"to": TWO}], False),
        ("eth_createAccessList", [{"to": TWO}], False),
        ("eth_simulateV1", [{"blockStateCalls": [{"calls": [{"to": ONE}]}]}], True),
        (
            "eth_simulateV1",
            [{"blockStateCalls": [{"calls": [{"to": ONE}]}, {"calls": [{"to": TWO}]}]}],
            False,
        ),
        ("eth_simulateV1", [{"blockStateCalls": [{"calls": [{"data": "0x00"}]}]}], False),
        ("eth_fillTransaction", [{"to": ONE, "gas": "0x5208"}], True),
        ("eth_fillTransaction", [{"to": TWO}], False),
        ("eth_fillTransaction", [{"data": "0x00"}], False),
        ("debug_traceCall", [{"to": ONE}], True),
        ("debug_traceCall", [{"to": TWO}], False),
        ("debug_traceCall", [{"to": ONE}, "latest", {"stateOverrides": {ONE: {"code": "0x00"}}}], False),
        ("eth_getAccount", [ONE], True),
        ("eth_getAccount", [TWO], False),
        ("debug_codeByHash", [HASH], False),
        ("debug_traceBlock", ["0x"], False),
        ("debug_storageRangeAt", ["latest", 0, ONE, "0x", 1], True),
        ("debug_storageRangeAt", ["latest", 0, TWO, "0x", 1], False),
        ("eth_getLogs", [{"address": ONE}], True),
        ("eth_getLogs", [{"address": [ONE, TWO]}], False),
        ("eth_getLogs", [{}], False),
        ("wsnode_getLogsPage", [{}], False),
        ("eth_newFilter", [{"address": ONE}], True),
        ("eth_newFilter", [{}], False),
        ("eth_subscribe", ["logs", {"address": ONE}], True),
        ("eth_subscribe", ["logs", {"address": [ONE, TWO]}], False),
        ("eth_subscribe", ["logs", {}], False),
        ("eth_subscribe", ["newHeads"], True),
        ("eth_subscribe", ["newBlocks", {"receipts": True}], True),
        ("eth_subscribe", ["state", {"accounts": [ONE], "slots": {ONE: ["0x0"]}}], True),
        ("eth_subscribe", ["state", {"accounts": [ONE], "slots": {TWO: ["0x0"]}}], False),
        ("eth_subscribe", ["state", {"accounts": [TWO]}], False),
        ("eth_subscribe", ["newPendingTransactions", True, {"toAddress": ONE}], True),
        ("eth_subscribe", ["newPendingTransactions", True, {"toAddress": [ONE, TWO]}], False),
        ("eth_subscribe", ["alchemy_pendingTransactions", {"toAddress": TWO}], False),
        ("eth_subscribe", ["alchemy_minedTransactions", {"addresses": [{"to": ONE}]}], True),
        ("eth_subscribe", ["alchemy_minedTransactions", {"addresses": [{"from": ONE, "to": TWO}]}], False),
        ("eth_newPendingTransactionFilter", [True, {"toAddress": ONE}], True),
        ("eth_newPendingTransactionFilter", [True, {"toAddress": TWO}], False),
        ("trace_call", [{"to": ONE}, []], True),
        ("trace_call", [{"to": TWO}, []], False),
        ("trace_call", [{"data": "0x00"}, []], False),
        ("trace_call", [{"to": ONE}, [], "latest", {ONE: {"code": "0x00"}}], False),
        ("trace_callMany", [[[{"to": ONE}, []], [{"to": ONE}, []]]], True),
        ("trace_callMany", [[[{"to": ONE}, []], [{"to": TWO}, []]]], False),
        ("trace_rawTransaction", [raw(ONE), []], True),
        ("trace_rawTransaction", [raw(TWO), []], False),
        ("trace_rawTransaction", [raw(None), []], False),
        ("trace_rawTransaction", ["0x02c0", []], False),
        ("trace_rawTransaction", ["0x", []], False),
        ("ots_hasCode", [ONE], True),
        ("ots_hasCode", [TWO, 1], False),
        ("eth_getBlockByNumber", ["latest", False], True),
        ("eth_getTransactionByHash", [HASH], True),
    ],
)
def test_calls_that_name_other_contracts_are_refused(
    method: str, params: list[Any], allowed: bool, execution_apis_chain: Chain
) -> None:
    chain = execution_apis_chain
    registry = build_registry(chain, hub=Hub(chain), pool=TransactionPool(chain))
    dispatcher = Dispatcher(registry, execution_apis_chain.snapshot)
    session = Conversation(dispatcher, None, OnlyOne())
    answer = session.receive(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    )
    session.end_turn()
    refused = isinstance(answer, bytes) and b"not allowed" in answer
    assert refused is not allowed, answer


ACCOUNTS: st.SearchStrategy[dict[str, dict[str, Any] | None]] = st.dictionaries(
    st.binary(min_size=20, max_size=20).map(lambda address: f"0x{address.hex()}"),
    st.sampled_from([None, {}, {"balance": "0x1"}, {"stateDiff": {}}, {"code": "0x"}, {"CODE": "0x00"}]),
)


@given(ACCOUNTS)
def test_what_overrides_name_is_what_they_say(accounts: dict[str, dict[str, Any] | None]) -> None:
    overrides = decode_state_overrides(accounts)
    named = targets([], overrides)
    if any(name.lower() == "code" for account in accounts.values() for name in account or ()):
        assert named is None
    else:
        assert named is not None
        assert set(named) == {int(address, 16) for address in msgspec.json.decode(overrides or b"{}")}


def test_to_look_at_large_overrides_makes_nothing_of_them() -> None:
    slots = {f"0x{slot:064x}": HASH for slot in range(6_000)}
    overrides = decode_state_overrides({f"0x{n:040x}": {"stateDiff": slots} for n in range(3)})
    tracemalloc.start()
    try:
        named = list(targets([], overrides) or ())
        assert tracemalloc.get_traced_memory()[1] < 10_000
    finally:
        tracemalloc.stop()
    assert named == [0, 1, 2]
