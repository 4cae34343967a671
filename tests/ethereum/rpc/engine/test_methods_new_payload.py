"""Payloads as a consensus client gives them: what is valid, what is not, and what that says of others."""

from typing import Any

import pytest

from tests.ethereum.rpc.engine.conftest import OpenDriven
from tests.ethereum.rpc.engine.driving import FORKS, ZERO, Driven, Made

UNKNOWN = "0x" + "99" * 32


def invalid(status: dict[str, Any], latest_valid: str | None) -> bool:
    return (status["status"], status["latestValidHash"]) == ("INVALID", latest_valid)


@pytest.mark.parametrize("fork", FORKS)
async def test_a_payload_of_any_fork_is_valid_and_is_the_head_once_it_is_chosen(
    open_driven: OpenDriven, fork: str
) -> None:
    async with open_driven(fork) as node:
        await node.send(node.transfer())
        made = await node.built()
        assert len(made.payload["transactions"]) == 1
        status = {"status": "VALID", "latestValidHash": made.hash, "validationError": None}
        assert await node.give(made) == status
        assert await node.head() == node.genesis
        assert await node.choose(made.hash) == {"payloadStatus": status, "payloadId": None}
        assert await node.head() == made.hash
        assert await node.give(made) == status
        second = await node.extended(made)
        assert await node.head() == second.hash


@pytest.mark.slow
async def test_siblings_are_all_valid(node: Driven) -> None:
    parent = await node.extended()
    first = await node.built(parent)
    siblings = [node.sealed(first, prevRandao=f"0x{number:064x}") for number in range(64)]
    for sibling in siblings:
        assert (await node.give(sibling))["status"] == "VALID"
    assert await node.head() == parent.hash
    for sibling in (siblings[40], siblings[3], siblings[63]):
        assert (await node.choose(sibling.hash))["payloadStatus"]["status"] == "VALID"
        assert await node.head() == sibling.hash


async def test_payloads_on_payloads_need_no_fork_choice_between(node: Driven, foreign: list[Made]) -> None:
    for each in foreign:
        assert (await node.give(each))["status"] == "VALID"
    assert await node.head() == node.genesis
    assert (await node.choose(foreign[-1].hash))["payloadStatus"]["status"] == "VALID"
    assert await node.head() == foreign[-1].hash


@pytest.mark.parametrize("fork", FORKS)
async def test_a_wrong_hash_is_told_whether_the_parent_is_known_or_not(
    open_driven: OpenDriven, fork: str
) -> None:
    name = "INVALID_BLOCK_HASH" if fork == "paris" else "INVALID"
    async with open_driven(fork) as node:
        made = await node.built()
        for wrong in (
            made.changed(blockHash=UNKNOWN),
            made.changed(parentHash=UNKNOWN),
            made.changed(parentHash=made.hash),
            made.changed(gasLimit="0x1"),
        ):
            status = await node.give(wrong)
            assert (status["status"], status["latestValidHash"]) == (name, None)
            assert "block_hash" in status["validationError"]
        # It says nothing of the block that has this hash.
        assert (await node.give(made))["status"] == "VALID"


async def test_root_and_requests_and_blobs_are_part_of_what_is_checked_at_once(node: Driven) -> None:
    made = await node.built()
    orphan = node.sealed(made, parentHash=UNKNOWN)
    for each in (made, orphan):
        payload, hashes, root, requests = each.arguments(4)
        for wrong in (
            [payload, hashes, ZERO, requests],
            [payload, hashes, root, ["0x00" + "11" * 4]],
            [payload, [UNKNOWN], root, requests],
        ):
            assert invalid(await node.ask("engine_newPayloadV4", *wrong), None)
    assert (await node.give(orphan))["status"] == "SYNCING"
    assert (await node.give(made))["status"] == "VALID"


async def test_payloads_wait_for_their_ancestors_and_are_joined_when_those_come(
    node: Driven, foreign: list[Made]
) -> None:
    for each in reversed(foreign[1:]):
        status = await node.give(each)
        assert (status["status"], status["latestValidHash"]) == ("SYNCING", None)
    reply = await node.choose(foreign[-1].hash)
    assert (reply["payloadStatus"]["status"], reply["payloadId"]) == ("SYNCING", None)
    assert await node.head() == node.genesis
    assert (await node.give(foreign[0]))["status"] == "VALID"
    assert (await node.choose(foreign[-1].hash))["payloadStatus"]["status"] == "VALID"
    assert await node.head() == foreign[-1].hash


async def test_a_side_branch_that_waits_holds_up_no_other(node: Driven, foreign: list[Made]) -> None:
    assert (await node.give(foreign[9]))["status"] == "SYNCING"
    assert (await node.choose(foreign[9].hash))["payloadStatus"]["status"] == "SYNCING"
    made = await node.extended()
    assert await node.head() == made.hash


@pytest.mark.parametrize("place", [0, 1, 8])
async def test_a_line_that_waited_is_invalid_from_its_invalid_payload_on(
    node: Driven, foreign: list[Made], place: int
) -> None:
    bad = node.sealed(foreign[place], stateRoot=UNKNOWN)
    line = [*foreign[:place], bad]
    for each in foreign[place + 1 :]:
        line.append(node.sealed(each, parentHash=line[-1].hash))
    for each in reversed(line[1:]):
        assert (await node.give(each))["status"] == "SYNCING"
    latest_valid = line[place - 1].hash if place else node.genesis
    first = await node.give(line[0])
    assert invalid(first, node.genesis) if place == 0 else first["status"] == "VALID"
    reply = await node.choose(line[-1].hash)
    assert invalid(reply["payloadStatus"], latest_valid)
    assert await node.head() == node.genesis
    assert invalid(await node.give(line[-1]), latest_valid)
    for each in foreign:
        assert (await node.give(each))["status"] == "VALID"
    assert (await node.choose(foreign[-1].hash))["payloadStatus"]["status"] == "VALID"


async def test_an_invalid_payload_of_a_side_branch_leaves_the_head_alone(
    node: Driven, foreign: list[Made]
) -> None:
    mine = await node.extended(prevRandao="0x" + "05" * 32)
    for each in foreign[:4]:
        assert (await node.give(each))["status"] == "VALID"
    bad = node.sealed(foreign[4], receiptsRoot=UNKNOWN)
    assert invalid(await node.give(bad), foreign[3].hash)
    assert invalid((await node.choose(bad.hash))["payloadStatus"], foreign[3].hash)
    assert await node.head() == mine.hash
