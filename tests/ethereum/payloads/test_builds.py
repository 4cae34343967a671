"""Payloads that are built: better as the pool changes, until they are asked for."""

import trio.testing

from tests.ethereum.rpc.engine.conftest import OpenDriven
from tests.ethereum.rpc.engine.driving import GENESIS_TIME, Driven
from wsnode.ethereum.payloads.builds import PAUSE_SECONDS

FUTURE = GENESIS_TIME + 10**9
"""A slot that does not end while a test runs."""


async def begun(node: Driven, timestamp: int = FUTURE) -> str:
    reply = await node.choose(node.genesis, attributes=node.attributes(timestamp))
    return str(reply["payloadId"])


async def let_pass(clock: trio.testing.MockClock, pauses: int = 3) -> None:
    """Have some looks at the pool pass, and what they begin in threads end."""
    for _ in range(pauses):
        await trio.testing.wait_all_tasks_blocked(0.05)
        clock.jump(PAUSE_SECONDS + 0.01)
    await trio.testing.wait_all_tasks_blocked(0.05)


async def test_what_is_sent_before_the_payload_is_asked_for_is_in_it(
    open_driven: OpenDriven, mock_clock: trio.testing.MockClock
) -> None:
    async with open_driven() as node:
        identity = await begun(node)
        await let_pass(mock_clock)
        first = await node.send(node.transfer())
        await let_pass(mock_clock)
        found = await node.fetch(identity)
        assert len(found["executionPayload"]["transactions"]) == 1
        assert int(found["blockValue"], 16) == 21_000 * 10**9
        # What comes later is for the next one.
        await node.send(node.transfer())
        await let_pass(mock_clock)
        assert await node.fetch(identity) == found
        assert first


async def test_a_slot_that_is_over_gets_one_full_payload_and_no_more(
    open_driven: OpenDriven, mock_clock: trio.testing.MockClock
) -> None:
    async with open_driven() as node:
        await node.send(node.transfer())
        identity = await begun(node, GENESIS_TIME + 12)
        await let_pass(mock_clock)
        await node.send(node.transfer(sender=1))
        await let_pass(mock_clock)
        assert len((await node.fetch(identity))["executionPayload"]["transactions"]) == 1
