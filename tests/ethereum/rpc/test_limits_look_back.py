"""Proofs and simulations rewind the state within a bound, and end when their caller disconnects."""

import pytest

from tests.memory_transport import Ask, asking
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.state import CancelFlag, StoppedError
from wsnode.jsonrpc.dispatcher import Dispatcher

ACCOUNT = "0x" + "11" * 20
TOO_OLD = {"code": -32005, "message": "block 9 is too old: more than 1024 bytes of changes since"}
CALL = {"blockStateCalls": [{"calls": [{"from": ACCOUNT}]}]}


def limited(chain: Chain, **limits: int) -> Ask:
    return asking(Dispatcher(build_registry(chain, limits=CallLimits(**limits)), chain.snapshot))


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_getProof", [ACCOUNT, []]),
        ("eth_getAccount", [ACCOUNT]),
        ("eth_simulateV1", [CALL]),
    ],
)
def test_what_goes_too_far_back_is_refused(
    method: str, params: list[object], execution_apis_chain: Chain
) -> None:
    few = limited(execution_apis_chain, history_bytes=1024)
    assert few(method, *params, "0x9")["error"] == TOO_OLD
    assert "result" in few(method, *params, "latest")
    assert "result" in limited(execution_apis_chain)(method, *params, "0x9")


def test_a_proof_that_nobody_waits_for_ends(execution_apis_chain: Chain) -> None:
    flag = CancelFlag()
    flag.set()
    with execution_apis_chain.snapshot() as view:
        block_hash = view.hash_of(9)
    assert block_hash is not None
    with pytest.raises(StoppedError):
        execution_apis_chain.state.proof(bytes(20), [], (9, block_hash), cancel=flag)
