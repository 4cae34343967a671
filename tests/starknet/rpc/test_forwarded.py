"""Methods that only an upstream could answer, on a chain that follows none."""

from tests.starknet.conftest import caller_of
from wsnode.starknet.chain import StarknetChain

REQUEST = {"contract_address": "0x1", "entry_point_selector": "0x2", "calldata": ["0x3"]}


def test_a_chain_that_follows_nobody_refuses(fresh: StarknetChain) -> None:
    call = caller_of(fresh)
    for name in ("traceTransaction", "getMessagesStatus"):
        assert call(f"starknet_{name}", ["0x1"]) == {
            "code": -32000,
            "message": "no upstream is configured, and this node executes no Cairo",
        }
    assert call("starknet_call", [REQUEST, "latest"])["code"] == 24
    assert call("starknet_addInvokeTransaction", [])["code"] == -32602
