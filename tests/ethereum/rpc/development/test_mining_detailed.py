"""Blocks on demand, with what their transactions returned."""

from typing import Any

import pytest

from tests.ethereum.development.playground import CREATOR, RECIPIENT, STRANGER, Playground, RefusedError
from wsnode.ethereum.rpc.development.mining import MAX_DETAILED_BLOCKS

pytestmark = pytest.mark.slow

# Error("boom"), behind 10 bytes of code that reverts with all that follows them.
REASON = "08c379a0" + f"{32:064x}{4:064x}" + b"boom".hex().ljust(64, "0")
REVERTS = f"0x60{100:02x}80600a5f395ffd00{REASON}"
RETURNS_42 = "0x602a5f5260205ff3"
METHODS = ("evm_mine_detailed", "anvil_mine_detailed")


def outcomes(block: dict[str, Any]) -> list[tuple[str | None, str | None]]:
    return [(each.get("output"), each.get("revertReason")) for each in block["transactions"]]


@pytest.mark.parametrize("method", METHODS)
def test_transactions_come_with_what_they_returned(chain: Playground, method: str) -> None:
    chain("evm_setAutomine", False)
    for address, code in ((STRANGER, REVERTS), ("0x" + "42" * 20, RETURNS_42), ("0x" + "fe" * 20, "0xfe")):
        chain("anvil_setCode", address, code)
    sent = [
        chain.send(to=RECIPIENT),
        chain.send(to=STRANGER, value=None, gas="0x20000"),
        chain.send(to="0x" + "42" * 20, value=None, gas="0x20000"),
        chain.send(to="0x" + "fe" * 20, value=None, gas="0x20000"),
        chain.send(to=None, value=None, data=RETURNS_42, gas="0x20000"),
    ]
    (block,) = chain(method)
    assert outcomes(block) == [
        ("0x", None),
        (f"0x{REASON}", "boom"),
        (f"0x{42:064x}", None),
        # Nothing is returned by what is halted.
        (None, None),
        (f"0x{42:064x}", None),
    ]
    # All other members are as in other methods.
    for transaction in block["transactions"]:
        transaction.pop("output", None)
        transaction.pop("revertReason", None)
    assert block == chain("eth_getBlockByNumber", "latest", True)
    assert [transaction["hash"] for transaction in block["transactions"]] == sent


def test_options_are_those_of_mining(chain: Playground) -> None:
    time = chain.time() + 10_000
    blocks = chain("evm_mine_detailed", {"blocks": 3, "timestamp": time})
    assert [int(block["number"], 16) for block in blocks] == [1, 2, 3]
    assert int(blocks[0]["timestamp"], 16) == time
    (block,) = chain("evm_mine_detailed", hex(time + 100))
    assert (block["number"], block["timestamp"]) == ("0x4", hex(time + 100))
    assert chain("evm_mine_detailed", {"blocks": 0}) == []
    assert chain.head == 4
    with pytest.raises(RefusedError, match="Timestamp error") as refused:
        chain("evm_mine_detailed", 1)
    assert refused.value.code == -32602


def test_a_transaction_without_a_signature_is_in_it(chain: Playground) -> None:
    chain("evm_setAutomine", False)
    chain("anvil_setBalance", STRANGER, 10**18)
    chain("anvil_impersonateAccount", STRANGER)
    chain.send(STRANGER)
    (block,) = chain("evm_mine_detailed")
    assert outcomes(block) == [("0x", None)]
    assert block["transactions"][0]["from"] == STRANGER


def test_so_many_blocks_and_no_more(chain: Playground) -> None:
    assert len(chain("evm_mine_detailed", {"blocks": MAX_DETAILED_BLOCKS})) == MAX_DETAILED_BLOCKS
    with pytest.raises(RefusedError, match=f"more than {MAX_DETAILED_BLOCKS} blocks") as refused:
        chain("evm_mine_detailed", {"blocks": MAX_DETAILED_BLOCKS + 1})
    assert (refused.value.code, chain.head) == (-32602, MAX_DETAILED_BLOCKS)


def test_the_senders_nonce_goes_on(chain: Playground) -> None:
    chain.send()
    chain("evm_mine_detailed")
    assert chain.nonce(CREATOR) == 1
