"""Blocks are taken off the chain, some or all of them."""

import pytest

from tests.ethereum.development.playground import RECIPIENT, STRANGER, Playground, RefusedError


def test_blocks_are_rolled_back(chain: Playground) -> None:
    chain.send()
    hashes = [chain.block(number)["hash"] for number in (0, 1)]
    chain("anvil_mine", 3)
    assert chain("anvil_rollback", 3) is None
    assert (chain.head, chain.block()["hash"]) == (1, hashes[1])
    assert chain("anvil_rollback") is None
    assert (chain.head, chain.pool, chain.balance(RECIPIENT)) == (0, (0, 0), 10_000 * 10**18)
    with pytest.raises(RefusedError) as refused:
        chain("anvil_rollback", 1)
    assert refused.value.code == -32602


@pytest.mark.parametrize(("method", "answer"), [("anvil_reset", None), ("hardhat_reset", True)])
def test_the_chain_begins_anew(chain: Playground, method: str, answer: bool | None) -> None:
    genesis = chain.block()
    chain("anvil_setBalance", STRANGER, 1)
    chain("anvil_impersonateAccount", STRANGER)
    chain.send()
    identity = chain("evm_snapshot")
    chain("evm_increaseTime", 10**6)
    chain("evm_setAutomine", False)
    chain.send()
    assert chain(method) is answer
    assert (chain.block(), chain.pool, chain.balance(STRANGER)) == (genesis, (0, 0), 0)
    assert chain("anvil_getAutomine") is True
    assert chain("evm_revert", identity) is False
    assert STRANGER not in chain("eth_accounts")
    assert chain.receipt(chain.send()) is not None
    forking = {"jsonRpcUrl": "http://127.0.0.1:1"}
    for params in ([{"forking": forking}], [forking], {"forking": forking}, forking):
        error = chain.ask(method, params)["error"]
        assert (error["code"], "fork" in error["message"]) == (-32602, True)
    assert chain.ask(method, {})["result"] is answer
