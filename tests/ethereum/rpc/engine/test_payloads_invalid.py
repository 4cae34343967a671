"""Payloads that break a rule: on the head, on a branch, and as ancestors of later payloads."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.ethereum.rpc.engine.driving import Driven, Made

UNKNOWN = "0x" + "99" * 32
WITHDRAWAL = {"index": "0x1", "validatorIndex": "0x1", "address": "0x" + "77" * 20, "amount": "0x1"}

Members = dict[str, Any]
Breaking = Callable[[Driven, Made, Made], Members]
"""Returns what is wrong in a payload, of the node, the good payload and its parent."""


def instead(**members: Any) -> Breaking:
    return lambda _node, _good, _parent: members


def paying(**members: Any) -> Breaking:
    """Return what puts a transaction in the place of the good one."""

    def broken(node: Driven, good: Made, _parent: Made) -> Members:
        sender = (int(good.payload["blockNumber"], 16) - 1) % 3
        return {"transactions": [node.transfer(**{"sender": sender, "nonce": good_nonce(good), **members})]}

    return broken


def good_nonce(good: Made) -> int:
    """Return the nonce of the transaction of one of the foreign payloads."""
    return (int(good.payload["blockNumber"], 16) - 1) // 3


def unsigned(_node: Driven, good: Made, _parent: Made) -> Members:
    return {"transactions": [good.payload["transactions"][0][:-64] + "00" * 32]}


KINDS: dict[str, Breaking] = {
    "state root": instead(stateRoot=UNKNOWN),
    "receipts root": instead(receiptsRoot=UNKNOWN),
    "bloom": instead(logsBloom="0x" + "01" * 256),
    "number": instead(blockNumber="0x63"),
    "gas limit": instead(gasLimit=hex(2**62)),
    "gas used": instead(gasUsed="0x5207"),
    "time of its parent": lambda _node, _good, parent: {"timestamp": parent.payload["timestamp"]},
    "extra data": instead(extraData="0x" + "00" * 33),
    "base fee": instead(baseFeePerGas="0x1"),
    "blob gas used": instead(blobGasUsed="0x20000"),
    "excess blob gas": instead(excessBlobGas="0x20000"),
    "withdrawals": instead(withdrawals=[WITHDRAWAL]),
    "no transactions": instead(transactions=[]),
    "a transaction twice": lambda _node, good, _parent: {"transactions": good.payload["transactions"] * 2},
    "nonce": paying(nonce=7),
    "chain id": paying(chain_id=2),
    "balance": paying(value=10**30),
    "intrinsic gas": paying(gas=20_999),
    "gas of the block": paying(gas=10**9),
    "fee below the base fee": paying(max_fee=1, max_priority_fee=0),
    "tip above the fee": paying(max_priority_fee=10**12),
    "signature": unsigned,
    "unknown type": instead(transactions=["0x7f00"]),
    "empty transaction": instead(transactions=["0x"]),
}


def invalid(status: dict[str, Any], latest_valid: str | None) -> bool:
    found = status["status"], status["latestValidHash"]
    assert found == ("INVALID", latest_valid), status
    assert status["validationError"]
    return True


def broken(node: Driven, kind: str, good: Made, parent: Made) -> Made:
    assert len(good.payload["transactions"]) == 1
    return node.sealed(good, **KINDS[kind](node, good, parent))


def descendants(node: Driven, bad: Made, good: list[Made]) -> list[Made]:
    """Return payloads after a bad one, each of them good but for its ancestor."""
    line = [bad]
    for each in good:
        line.append(node.sealed(each, parentHash=line[-1].hash))
    return line[1:]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
async def test_on_the_head_it_is_invalid_and_so_is_what_follows_it(
    node: Driven, foreign: list[Made], kind: str
) -> None:
    parent = foreign[0]
    assert (await node.give(parent))["status"] == "VALID"
    assert (await node.choose(parent.hash))["payloadStatus"]["status"] == "VALID"
    bad = broken(node, kind, foreign[1], parent)
    later = descendants(node, bad, foreign[2:4])
    malformed = node.sealed(later[0], **KINDS["unknown type"](node, foreign[2], bad))
    for each in (bad, malformed, *later):
        assert invalid(await node.give(each), parent.hash)
        assert invalid((await node.choose(each.hash))["payloadStatus"], parent.hash)
    assert await node.head() == parent.hash
    # The good one is as good as before.
    assert (await node.give(foreign[1]))["status"] == "VALID"
    assert (await node.choose(foreign[1].hash))["payloadStatus"]["status"] == "VALID"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
async def test_on_a_branch_it_is_invalid_and_the_head_stays(
    node: Driven, foreign: list[Made], kind: str
) -> None:
    mine = await node.extended(prevRandao="0x" + "05" * 32)
    for each in foreign[:3]:
        assert (await node.give(each))["status"] == "VALID"
    bad = broken(node, kind, foreign[3], foreign[2])
    for each in (bad, *descendants(node, bad, foreign[4:6])):
        assert invalid(await node.give(each), foreign[2].hash)
        assert invalid((await node.choose(each.hash))["payloadStatus"], foreign[2].hash)
    assert await node.head() == mine.hash
    for each in foreign[3:]:
        assert (await node.give(each))["status"] == "VALID"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
async def test_as_an_ancestor_of_payloads_that_waited_for_it_it_makes_them_invalid(
    node: Driven, foreign: list[Made], kind: str
) -> None:
    bad = broken(node, kind, foreign[2], foreign[1])
    later = descendants(node, bad, foreign[3:6])
    for each in reversed(later):
        assert (await node.give(each))["status"] == "SYNCING"
    # Some of it can be seen without its parent, and then no valid ancestor is known.
    early = await node.give(bad)
    assert early["status"] == "SYNCING" or invalid(early, None)
    for each in foreign[:2]:
        assert (await node.give(each))["status"] == "VALID"
    for each in (later[-1], later[0], bad):
        assert invalid((await node.choose(each.hash))["payloadStatus"], foreign[1].hash)
        assert invalid(await node.give(each), foreign[1].hash)
    assert await node.head() == node.genesis
    for each in foreign[2:]:
        assert (await node.give(each))["status"] == "VALID"
    assert (await node.choose(foreign[-1].hash))["payloadStatus"]["status"] == "VALID"
