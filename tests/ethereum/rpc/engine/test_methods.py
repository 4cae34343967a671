"""What else a consensus client asks: versions, bodies, capabilities, and the methods that it shares."""

import json
from typing import Any

import pytest

from tests.ethereum.rpc.engine.conftest import OpenDriven
from tests.ethereum.rpc.engine.driving import (
    FORKS,
    GET_PAYLOAD,
    NEW_PAYLOAD,
    RECIPIENT,
    ROOT,
    ZERO,
    Driven,
    FailedCallError,
    Made,
)
from tests.reply_schemas import vague_places
from wsnode.ethereum.payloads.builds import MAX_BUILDS
from wsnode.ethereum.rpc.engine.methods import SHARED
from wsnode.ethereum.rpc.engine.payloads import MAX_BODIES

METHODS = {
    *(f"engine_newPayloadV{version}" for version in range(1, 6)),
    *(f"engine_forkchoiceUpdatedV{version}" for version in range(1, 5)),
    *(f"engine_getPayloadV{version}" for version in range(1, 7)),
    *(f"engine_getBlobsV{version}" for version in range(1, 5)),
    *(f"engine_getPayloadBodiesByHashV{version}" for version in (1, 2)),
    *(f"engine_getPayloadBodiesByRangeV{version}" for version in (1, 2)),
    "engine_getClientVersionV1",
    "engine_exchangeTransitionConfigurationV1",
}


async def code_of(node: Driven, method: str, *params: Any) -> int:
    with pytest.raises(FailedCallError) as failed:
        await node.ask(method, *params)
    return int(failed.value.code)


async def test_the_methods_are_those_that_it_says_it_has(node: Driven) -> None:
    named = await node.ask("engine_exchangeCapabilities", ["engine_newPayloadV1", "engine_unheardOf"])
    assert set(named) == METHODS
    assert len(named) == len(METHODS)
    for name in METHODS:
        assert await code_of(node, name, *[None] * 9) == -32602
    assert await code_of(node, "engine_newPayloadV6") == -32601


async def test_it_says_who_it_is(node: Driven) -> None:
    client = {"code": "LS", "name": "Lodestar", "version": "v1", "commit": "0x01020304"}
    ours = await node.ask("engine_getClientVersionV1", client)
    assert [(each["code"], each["name"]) for each in ours] == [("WN", "wsnode")]
    assert len(bytes.fromhex(ours[0]["commit"][2:])) == 4
    given = {"terminalTotalDifficulty": "0x0", "terminalBlockHash": ZERO, "terminalBlockNumber": "0x0"}
    assert await node.ask("engine_exchangeTransitionConfigurationV1", given) == given


async def test_some_methods_of_the_chain_are_there_and_no_others(node: Driven) -> None:
    made = await node.extended()
    assert await node.ask("eth_blockNumber") == "0x1"
    assert (await node.ask("eth_getBlockByHash", made.hash, True))["miner"] == RECIPIENT
    assert await node.ask("eth_syncing") is False
    assert await node.ask("eth_getLogs", {"fromBlock": "0x0"}) == []
    assert await node.ask("eth_call", {"to": RECIPIENT}, "latest") == "0x"
    for name in SHARED:
        assert await code_of(node, name, *[None] * 9) == -32602
    for name in ("eth_getBalance", "debug_traceTransaction", "eth_subscribe"):
        assert await code_of(node, name) == -32601


@pytest.mark.slow
@pytest.mark.parametrize("fork", FORKS)
@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
async def test_a_version_takes_the_payloads_of_its_forks_alone(
    open_driven: OpenDriven, fork: str, version: int
) -> None:
    async with open_driven(fork) as node:
        made = await node.built()
        fitting = {NEW_PAYLOAD[fork], *([2] if fork == "paris" else [])}
        payload = Made(made.payload, (), ROOT, [])
        if version in fitting:
            assert (await node.give(made if version > 2 else payload, version))["status"] == "VALID"
            return
        code = await code_of(node, f"engine_newPayloadV{version}", *payload.arguments(version))
        structure = len({"withdrawals", "blobGasUsed", "slotNumber"} & made.payload.keys()) + 1
        taken = (1, 2, 3, 3, 4)[version - 1]
        expected = -32602 if structure > taken or (version > 2 and structure < taken) else -38005
        assert code == expected


@pytest.mark.parametrize("fork", FORKS)
async def test_a_payload_that_was_built_is_asked_for_by_the_version_of_its_fork(
    open_driven: OpenDriven, fork: str
) -> None:
    async with open_driven(fork) as node:
        await node.send(node.transfer(max_priority_fee=3 * 10**9))
        reply = await node.choose(node.genesis, attributes=node.attributes(1_700_000_012))
        identity = reply["payloadId"]
        fitting = {GET_PAYLOAD[fork], *([2] if fork == "paris" else [])}
        for version in {1, 2, 3, 4, 5, 6} - fitting:
            assert await code_of(node, f"engine_getPayloadV{version}", identity) == -38005
        for version in fitting:
            found = await node.ask(f"engine_getPayloadV{version}", identity)
            if version > 1:
                # One transfer, of 21,000 gas.
                assert int(found["blockValue"], 16) == 21_000 * 3 * 10**9
                members = {"executionPayload", "blockValue"}
                members |= {"blobsBundle", "shouldOverrideBuilder"} if version > 2 else set()
                assert found.keys() == members | ({"executionRequests"} if version > 3 else set())
                found = found["executionPayload"]
            assert found["feeRecipient"] == RECIPIENT
            assert found["prevRandao"] == ROOT
            assert found["parentHash"] == node.genesis
            assert len(found["transactions"]) == 1


async def test_payloads_are_known_by_their_identities_as_long_as_there_are_few(node: Driven) -> None:
    identities = []
    for number in range(MAX_BUILDS + 1):
        attributes = node.attributes(1_700_000_012 + number)
        identities.append((await node.choose(node.genesis, attributes=attributes))["payloadId"])
    assert await code_of(node, "engine_getPayloadV5", identities[0]) == -38001
    assert (await node.fetch(identities[1]))["executionPayload"]["timestamp"] == hex(1_700_000_013)
    assert await code_of(node, "engine_getPayloadV5", "0x0000000000000000") == -38001
    for wrong in ("0x00", "0x" + "00" * 9, 1, None):
        assert await code_of(node, "engine_getPayloadV5", wrong) == -32602


async def test_random_value_and_fee_recipient_are_those_of_the_attributes(node: Driven) -> None:
    made = await node.extended(prevRandao="0x" + "07" * 32, suggestedFeeRecipient="0x" + "08" * 20)
    assert (made.payload["prevRandao"], made.payload["feeRecipient"]) == ("0x" + "07" * 32, "0x" + "08" * 20)
    call = {"to": RECIPIENT, "input": "0x"}
    # COINBASE and PREVRANDAO into memory, which is returned.
    for code, expected in (("41", "00" * 12 + "08" * 20), ("44", "07" * 32)):
        override = {RECIPIENT: {"code": f"0x{code}5f5260205ff3"}}
        assert await node.ask("eth_call", call, "latest", override) == f"0x{expected}"


async def test_bodies_are_returned_by_hash_and_by_number(node: Driven, foreign: list[Made]) -> None:
    for each in foreign:
        await node.give(each)
    await node.choose(foreign[5].hash)
    bodies = [
        {"transactions": each.payload["transactions"], "withdrawals": each.payload["withdrawals"]}
        for each in foreign
    ]
    hashes = [foreign[3].hash, ZERO, foreign[0].hash]
    assert await node.ask("engine_getPayloadBodiesByHashV1", hashes) == [bodies[3], None, bodies[0]]
    ranges: tuple[tuple[int, int, list[Any]], ...] = (
        (1, 1, bodies[:1]),
        (2, 3, bodies[1:4]),
        (5, MAX_BODIES, bodies[4:6]),
        (7, 1, []),
        (2**64 - 1, 1, []),
    )
    for start, count, expected in ranges:
        found = await node.ask("engine_getPayloadBodiesByRangeV1", hex(start), hex(count))
        assert found == expected
    by_range, by_hash = "engine_getPayloadBodiesByRangeV1", "engine_getPayloadBodiesByHashV1"
    assert await code_of(node, by_range, "0x0", "0x1") == -32602
    assert await code_of(node, by_range, "0x1", "0x0") == -32602
    assert await code_of(node, by_range, "0x1", hex(MAX_BODIES + 1)) == -38004
    assert await code_of(node, by_hash, [ZERO] * (MAX_BODIES + 1)) == -38004


async def test_bodies_from_before_withdrawals_have_null_for_them(open_driven: OpenDriven) -> None:
    async with open_driven("paris") as node:
        made = await node.extended()
        expected: list[Any] = [{"transactions": [], "withdrawals": None}]
        assert await node.ask("engine_getPayloadBodiesByHashV1", [made.hash]) == expected


async def test_a_payload_that_lacks_a_member_or_has_one_too_many_is_refused(node: Driven) -> None:
    made = await node.built()
    payload, *beside = made.arguments(4)
    for name in payload:
        lacking = {each: value for each, value in payload.items() if each != name}
        assert await code_of(node, "engine_newPayloadV4", lacking, *beside) == -32602
        assert await code_of(node, "engine_newPayloadV4", {**payload, name: None}, *beside) == -32602
        assert await code_of(node, "engine_newPayloadV4", {**payload, name: "0xzz"}, *beside) == -32602
    malformed: tuple[Any, ...] = (
        {**payload, "slotNumber": "0x1"},
        {**payload, "blockNumber": "0x01"},
        {**payload, "blockNumber": "0x"},
        {**payload, "blockNumber": 1},
        {**payload, "blockHash": payload["blockHash"][2:]},
        {**payload, "extraData": "0x0"},
        {**payload, "gasLimit": hex(2**64)},
        {**payload, "baseFeePerGas": hex(2**256)},
        [],
        "payload",
        None,
    )
    for wrong in malformed:
        assert await code_of(node, "engine_newPayloadV4", wrong, *beside) == -32602
    hashes, root, requests = beside
    for others in (
        [None, root, requests],
        [hashes, None, requests],
        [hashes, root, None],
        [hashes, root],
        [hashes, root, requests, None],
        [["0x01"], root, requests],
        [hashes, root, ["0x00"]],
        [hashes, root, ["0x"]],
        [hashes, root, ["0x01aa", "0x00aa"]],
        [hashes, root, ["0x01aa", "0x01bb"]],
    ):
        assert await code_of(node, "engine_newPayloadV4", payload, *others) == -32602
    assert (await node.give(made))["status"] == "VALID"


async def test_a_payload_named_twice_in_its_text_is_refused(node: Driven) -> None:
    made = await node.built()
    text = json.dumps(made.payload)
    doubled = text[:-1] + ', "gasUsed": "0x0"}'
    body = f'{{"jsonrpc":"2.0","id":1,"method":"engine_newPayloadV4","params":[{doubled},[],"{ROOT}",[]]}}'
    answer = (await node.connect().ask(body.encode(), target="/")).json
    assert answer["error"]["code"] == -32602


async def test_the_document_of_the_port_leaves_nothing_open(node: Driven) -> None:
    told = await node.ask("rpc.discover")
    assert vague_places(told) == []
    capabilities = await node.ask("engine_exchangeCapabilities", [])
    assert set(capabilities) < {method["name"] for method in told["methods"]}
