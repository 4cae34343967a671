"""Fork choices: the head goes where a consensus client says, sideways and back, and takes the pool along."""

import json
from typing import Any

import pytest

from tests.ethereum.rpc.engine.conftest import OpenDriven
from tests.ethereum.rpc.engine.driving import ROOT, ZERO, Driven, FailedCallError, Made
from tests.file_limits import files_of_at_most
from tests.server.conftest import Peer

UNKNOWN = "0x" + "99" * 32


async def side_blocks(node: Driven, length: int) -> list[Made]:
    """Return a branch from the genesis block on, judged and not chosen."""
    head = await node.head()
    made: list[Made] = []
    while len(made) < length:
        parent = made[-1] if made else None
        made.append(await node.built(parent, prevRandao="0x" + "05" * 32))
        assert (await node.give(made[-1]))["status"] == "VALID"
    await node.choose(head)
    return made


async def test_an_unknown_head_is_one_to_sync_to(node: Driven) -> None:
    reply = await node.choose(UNKNOWN, attributes=node.attributes(2_000_000_000))
    status = {"status": "SYNCING", "latestValidHash": None, "validationError": None}
    assert reply == {"payloadStatus": status, "payloadId": None}
    assert await node.head() == node.genesis


async def test_safe_and_finalized_are_on_the_chain_of_the_head(node: Driven) -> None:
    first = await node.extended()
    second = await node.extended(first)
    side = (await side_blocks(node, 1))[0]
    wrong: tuple[dict[str, Any], ...] = (
        {"safe": UNKNOWN},
        {"finalized": UNKNOWN},
        {"safe": side.hash},
        {"finalized": side.hash},
        {"safe": second.hash, "finalized": side.hash},
    )
    for marks in wrong:
        with pytest.raises(FailedCallError) as failed:
            await node.choose(second.hash, **marks)
        assert failed.value.code == -38002
    with pytest.raises(FailedCallError) as failed:
        await node.choose(first.hash, safe=second.hash)
    assert (failed.value.code, await node.head()) == (-38002, second.hash)
    with pytest.raises(FailedCallError) as failed:
        await node.choose(ZERO)
    assert failed.value.code == -38002
    await node.choose(second.hash, safe=first.hash, finalized=node.genesis)
    for tag, block_hash in (("latest", second.hash), ("safe", first.hash), ("finalized", node.genesis)):
        assert (await node.ask("eth_getBlockByNumber", tag, False))["hash"] == block_hash
    await node.choose(second.hash)
    assert (await node.ask("eth_getBlockByNumber", "safe", False))["hash"] == first.hash


async def test_the_safe_block_may_be_another_one_after_a_reorganisation(node: Driven) -> None:
    made = [await node.extended()]
    for _ in range(2):
        made.append(await node.extended(made[-1]))
    side = await side_blocks(node, 3)
    await node.choose(made[2].hash, safe=made[1].hash)
    await node.choose(side[2].hash, safe=side[1].hash)
    assert (await node.ask("eth_getBlockByNumber", "safe", False))["hash"] == side[1].hash


@pytest.mark.parametrize("depth", [1, 5, 9])
async def test_the_head_goes_back_to_an_ancestor_and_forth_again(
    node: Driven, foreign: list[Made], depth: int
) -> None:
    for each in foreign:
        await node.give(each)
    await node.choose(foreign[-1].hash)
    back = foreign[-1 - depth]
    assert (await node.choose(back.hash))["payloadStatus"]["latestValidHash"] == back.hash
    assert await node.head() == back.hash
    assert await node.ask("eth_blockNumber") == back.payload["blockNumber"]
    for each in foreign[-depth:]:
        assert (await node.give(each))["status"] == "VALID"
    await node.choose(foreign[-1].hash)
    assert await node.head() == foreign[-1].hash


async def test_a_head_below_the_finalized_block_is_passed_over(node: Driven, foreign: list[Made]) -> None:
    for each in foreign[:4]:
        await node.give(each)
    await node.choose(foreign[3].hash, safe=foreign[2].hash, finalized=foreign[2].hash)
    reply = await node.choose(foreign[1].hash, attributes=node.attributes(2_000_000_000))
    assert (reply["payloadStatus"]["status"], reply["payloadId"]) == ("VALID", None)
    assert reply["payloadStatus"]["latestValidHash"] == foreign[1].hash
    assert await node.head() == foreign[3].hash


async def test_a_branch_that_leaves_the_chain_below_the_finalized_block_is_refused(
    node: Driven, foreign: list[Made]
) -> None:
    side = await side_blocks(node, 5)
    for each in foreign[:4]:
        await node.give(each)
    await node.choose(foreign[3].hash, safe=foreign[2].hash, finalized=foreign[2].hash)
    for final in (ZERO, side[0].hash):
        with pytest.raises(FailedCallError, match="leaves the chain at block 0, below block 3") as failed:
            await node.choose(side[4].hash, finalized=final)
        assert (failed.value.code, await node.head()) == (-38002, foreign[3].hash)


async def test_the_head_changes_between_branches_as_often_as_it_is_told(
    node: Driven, foreign: list[Made]
) -> None:
    side = await side_blocks(node, 4)
    for each in foreign:
        assert (await node.give(each))["status"] == "VALID"
    for head in (foreign[9], side[3], foreign[5], side[0], foreign[9], side[2]):
        assert (await node.choose(head.hash))["payloadStatus"]["status"] == "VALID"
        assert await node.head() == head.hash
        found = await node.ask("eth_getBlockByNumber", head.payload["blockNumber"], False)
        assert (found["hash"], found["stateRoot"]) == (head.hash, head.payload["stateRoot"])


async def test_transactions_of_a_block_that_is_replaced_wait_again_and_are_in_the_next_one(
    node: Driven,
) -> None:
    # Built before there is a transaction.
    empty = await node.built(prevRandao="0x" + "05" * 32)
    transaction = await node.send(node.transfer())
    first = await node.extended()
    receipt = await node.ask("eth_getTransactionReceipt", transaction, at="public")
    assert receipt["blockHash"] == first.hash
    assert (await node.give(empty))["status"] == "VALID"
    await node.choose(empty.hash)
    assert await node.ask("eth_getTransactionReceipt", transaction, at="public") is None
    second = await node.extended(empty)
    receipt = await node.ask("eth_getTransactionReceipt", transaction, at="public")
    assert receipt["blockHash"] == second.hash


ATTRIBUTES: dict[str, dict[str, Any]] = {
    "timestamp": {"timestamp": hex(1_700_000_030)},
    "prevRandao": {"prevRandao": "0x" + "07" * 32},
    "suggestedFeeRecipient": {"suggestedFeeRecipient": "0x" + "07" * 20},
    "withdrawals": {
        "withdrawals": [
            {"index": "0x1", "validatorIndex": "0x1", "address": "0x" + "77" * 20, "amount": "0x1"}
        ]
    },
    "parentBeaconBlockRoot": {"parentBeaconBlockRoot": "0x" + "07" * 32},
}


async def test_each_attribute_makes_another_payload_and_the_same_ones_make_none(node: Driven) -> None:
    async def begun(**others: Any) -> str:
        attributes = node.attributes(1_700_000_012) | others
        return str((await node.choose(node.genesis, attributes=attributes))["payloadId"])

    first = await begun()
    assert len(bytes.fromhex(first[2:])) == 8
    others = [await begun(**each) for each in ATTRIBUTES.values()]
    assert len({first, *others}) == 1 + len(ATTRIBUTES)
    assert await begun() == first


@pytest.mark.parametrize("timestamp", [0, 1_700_000_000])
async def test_attributes_that_cannot_be_met_leave_the_head_where_it_was_set(
    node: Driven, timestamp: int
) -> None:
    made = await node.built()
    await node.give(made)
    with pytest.raises(FailedCallError) as failed:
        await node.choose(made.hash, attributes=node.attributes(timestamp))
    assert (failed.value.code, await node.head()) == (-38003, made.hash)


async def test_what_is_no_fork_choice_is_refused(node: Driven) -> None:
    state = {"headBlockHash": node.genesis, "safeBlockHash": ZERO, "finalizedBlockHash": ZERO}
    for wrong in (
        [],
        [None],
        [{**state, "safeBlockHash": None}],
        [{**state, "more": ZERO}],
        [{"headBlockHash": node.genesis}],
        [{**state, "headBlockHash": node.genesis[:-2]}],
        [state, {}],
        [state, {**node.attributes(1_800_000_000), "more": "0x1"}],
        [state, node.attributes(1_800_000_000, prevRandao=None)],
        [state, None, None],
    ):
        with pytest.raises(FailedCallError) as failed:
            await node.ask("engine_forkchoiceUpdatedV3", *wrong)
        assert failed.value.code == -32602


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fork", "version", "members", "code"),
    [
        ("paris", 1, {"withdrawals": []}, -32602),
        ("paris", 2, {"withdrawals": []}, -32602),
        ("paris", 3, {}, -38003),
        ("paris", 3, {"withdrawals": [], "parentBeaconBlockRoot": ROOT}, -38005),
        ("shanghai", 1, {"withdrawals": None}, -32602),
        ("shanghai", 2, {"withdrawals": None}, -32602),
        ("shanghai", 2, {"parentBeaconBlockRoot": ROOT}, -32602),
        ("shanghai", 3, {}, -38003),
        ("shanghai", 3, {"parentBeaconBlockRoot": ROOT}, -38005),
        ("cancun", 1, {"withdrawals": None, "parentBeaconBlockRoot": None}, -38005),
        ("cancun", 2, {"parentBeaconBlockRoot": None}, -38005),
        ("cancun", 2, {}, -32602),
        ("cancun", 3, {"parentBeaconBlockRoot": None}, -38003),
        ("osaka", 3, {"withdrawals": None}, -38003),
        ("osaka", 2, {"parentBeaconBlockRoot": None}, -38005),
    ],
)
async def test_attributes_of_another_version_are_refused_and_the_head_is_set_all_the_same(
    open_driven: OpenDriven, fork: str, version: int, members: dict[str, Any], code: int
) -> None:
    async with open_driven(fork) as node:
        made = await node.built()
        await node.give(made)
        attributes = {k: v for k, v in node.attributes(1_800_000_000, **members).items() if v is not None}
        with pytest.raises(FailedCallError) as failed:
            await node.choose(made.hash, attributes=attributes, version=version)
        assert (failed.value.code, await node.head()) == (code, made.hash)


async def test_fork_choices_that_arrive_together_are_made_in_their_order(
    node: Driven, foreign: list[Made]
) -> None:
    peer = Peer(node.connect().stream, path="/")
    await peer.open()
    calls: list[tuple[str, list[Any]]] = []
    for each in foreign:
        calls.append(("engine_newPayloadV4", each.arguments(4)))
    for each in (*foreign, *foreign[::-3], foreign[4]):
        state = {"headBlockHash": each.hash, "safeBlockHash": ZERO, "finalizedBlockHash": ZERO}
        calls.append(("engine_forkchoiceUpdatedV3", [state, None]))
    texts = [
        json.dumps({"jsonrpc": "2.0", "id": place, "method": method, "params": params})
        for place, (method, params) in enumerate(calls)
    ]
    for text in texts:
        await peer.send(text)
    replies = [await peer.reply() for _ in texts]
    assert [reply["id"] for reply in replies] == list(range(len(texts)))
    assert {reply["result"].get("status", "none") for reply in replies} == {"VALID", "none"}
    assert await node.head() == foreign[4].hash


async def test_a_disk_without_room_fails_calls_for_as_long_as_there_is_none(
    node: Driven, foreign: list[Made], caplog: pytest.LogCaptureFixture
) -> None:
    for each in foreign[:3]:
        await node.give(each)
    await node.choose(foreign[0].hash)
    with files_of_at_most(4096):
        for _ in range(2):
            with pytest.raises(FailedCallError) as failed:
                await node.choose(foreign[2].hash)
            assert (failed.value.code, failed.value.message) == (
                -32603,
                "blocks cannot be stored at the moment",
            )
            assert await node.head() == foreign[0].hash
            assert node.not_ready_reason() == "blocks cannot be stored"
        assert (await node.give(foreign[3]))["status"] == "VALID"
    assert len([line for line in caplog.messages if line.startswith("blocks cannot be stored: ")]) == 1
    assert (await node.choose(foreign[3].hash))["payloadStatus"]["status"] == "VALID"
    assert await node.head() == foreign[3].hash
    assert node.not_ready_reason() is None
