"""What one upstream tells is taken within bounds, and a failure counts against it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from tests.sync.starknet.made_chain import NOT_SAID, MadeChain, MadeNode
from tests.vector_files import require_vectors
from wsnode.starknet.felt import felt_bytes
from wsnode.starknet.verification import verify
from wsnode.sync.follow.upstream import Upstream
from wsnode.sync.starknet import client
from wsnode.sync.starknet.client import block_at, fetch_announced, fetch_block, fetch_class, require_chain
from wsnode.sync.starknet.replies import (
    decode_block,
    decode_chain_id,
    decode_head,
    decode_spec_version,
    head_at,
)
from wsnode.untrusted.decoding import MalformedError
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.client import Client
from wsnode.upstream.errors import UpstreamError

LIVE_BLOCKS = ("sepolia_3100000", "sepolia_integration_63881", "sepolia_100000")
"""Those that have a state difference."""


@pytest.fixture
def made() -> MadeChain:
    chain = MadeChain()
    chain.grow(4)
    return chain


async def asked(node: MadeNode, nursery: trio.Nursery) -> Upstream:
    upstream = Upstream("a", Client(UpstreamAddress.parse("ws://a/"), connect=node.provider.connect))
    await nursery.start(upstream.client.run)
    return upstream


def params_of(node: MadeNode, name: str) -> list[Any]:
    """Return the parameters of each call of a method."""
    return [params for method, params in node.provider.calls if method == f"starknet_{name}"]


async def refusal(ask: Callable[[], Awaitable[Any]]) -> UpstreamError:
    with pytest.raises(UpstreamError) as refused:
        await ask()
    return refused.value


@pytest.mark.parametrize("name", LIVE_BLOCKS)
def test_real_blocks_are_proved(name: str) -> None:
    document = json.loads((require_vectors("starknet-live/blocks") / f"{name}.json").read_text())
    block, update = (json.dumps(document[part]).encode() for part in ("block", "state_update"))
    chain_id = decode_chain_id(json.dumps(document["chain_id"]).encode())
    proved = verify(decode_block(block, update), None, None, lambda _: False, chain_id)
    assert proved.body is not None
    assert proved.hash == felt_bytes(document["block"]["block_hash"])


async def test_a_block_is_asked_for_with_the_facts_that_its_hash_covers(
    nursery: trio.Nursery, made: MadeChain
) -> None:
    node = MadeNode(made, nursery)
    upstream = await asked(node, nursery)
    await require_chain(upstream, await upstream.client.link(), "SN_TEST")
    found = await fetch_block(upstream, {"block_number": 2})
    assert found.number == 2
    params: list[Any] = [
        params for method, params in node.provider.calls if method.endswith("getBlockWithReceipts")
    ]
    assert params == [{"block_id": {"block_number": 2}, "response_flags": ["INCLUDE_PROOF_FACTS"]}]


async def test_an_older_interface_is_asked_without_flags(nursery: trio.Nursery, made: MadeChain) -> None:
    node = MadeNode(made, nursery, "0.9.0")
    upstream = await asked(node, nursery)
    await require_chain(upstream, await upstream.client.link(), "SN_TEST")
    await fetch_block(upstream, {"block_number": 2})
    params: list[Any] = [
        params for method, params in node.provider.calls if method.endswith("getBlockWithReceipts")
    ]
    assert params == [{"block_id": {"block_number": 2}}]


async def test_another_block_than_the_one_asked_for_is_refused(
    nursery: trio.Nursery, made: MadeChain
) -> None:
    node = MadeNode(made, nursery)
    upstream = await asked(node, nursery)
    other = made.blocks[1]
    told = {"getBlockWithReceipts": other.block, "getStateUpdate": other.update}
    node.lie = lambda name, _result: told.get(name, NOT_SAID)
    refused = await refusal(lambda: fetch_block(upstream, {"block_number": 2}))
    assert refused.reason == "invalid"
    assert upstream.client.score.failures == 1


async def test_a_block_that_is_not_found_at_once_is_asked_for_again(
    nursery: trio.Nursery, made: MadeChain, autojump_clock: object
) -> None:
    node = MadeNode(made, nursery)
    upstream = await asked(node, nursery)
    head = made.head
    made.blocks.pop()

    async def come_late() -> None:
        await trio.sleep(1)
        made.blocks.append(head)

    nursery.start_soon(come_late)
    found = await fetch_announced(upstream, head_at(head.number, felt_bytes(head.hash)))
    assert found.number == head.number


async def test_a_block_that_is_never_found_is_absent(
    nursery: trio.Nursery, made: MadeChain, autojump_clock: object
) -> None:
    upstream = await asked(MadeNode(made, nursery), nursery)
    refused = await refusal(lambda: fetch_announced(upstream, head_at(9, felt_bytes("0x9"))))
    assert refused.reason == "absent"


async def test_a_block_in_whose_place_another_was_announced_is_given_up(
    nursery: trio.Nursery, made: MadeChain, autojump_clock: object
) -> None:
    upstream = await asked(MadeNode(made, nursery), nursery)
    gone = head_at(9, felt_bytes("0x9"))
    upstream.announce(head_at(9, felt_bytes("0xa")))
    refused = await refusal(lambda: fetch_announced(upstream, gone))
    assert "has replaced" in refused.detail


async def test_a_number_that_a_node_does_not_have_is_none(nursery: trio.Nursery, made: MadeChain) -> None:
    upstream = await asked(MadeNode(made, nursery), nursery)
    assert await block_at(upstream, {"block_number": 99}) is None
    found = await block_at(upstream, {"block_number": 1})
    assert found == head_at(1, felt_bytes(made.blocks[1].hash))
    assert str(found) == f"1 {made.blocks[1].hash}"


async def test_a_class_beyond_the_bound_is_refused(
    nursery: trio.Nursery, made: MadeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream = await asked(MadeNode(made, nursery), nursery)
    class_hash, definition = next(iter(made.classes.items()))
    size = len(json.dumps(definition, separators=(",", ":")))
    arguments = (upstream, felt_bytes(made.blocks[0].hash), felt_bytes(class_hash))
    monkeypatch.setattr(client, "MAX_CLASS_BYTES", size)
    assert (await fetch_class(*arguments)).class_hash == felt_bytes(class_hash)
    monkeypatch.setattr(client, "MAX_CLASS_BYTES", size - 1)
    refused = await refusal(lambda: fetch_class(*arguments))
    assert (refused.reason, f"{size} bytes, more than {size - 1}" in refused.detail) == ("invalid", True)


@pytest.mark.parametrize(
    ("told", "version"),
    [('"0.9.0"', (0, 9, 0)), ('"0.10.3"', (0, 10, 3)), ('"0.10.4-rc.1"', (0, 10, 4))],
)
def test_versions_are_numbers(told: str, version: tuple[int, ...]) -> None:
    assert decode_spec_version(told.encode()) == version


@pytest.mark.parametrize("told", ['"v0.9"', '""', "9", '"0.10."', '"' + "1." * 40 + '1"', "null", '"٣.1"'])
def test_what_is_no_version_is_malformed(told: str) -> None:
    with pytest.raises(MalformedError):
        decode_spec_version(told.encode())


@pytest.mark.parametrize("told", ['"0x0"', '"SN_MAIN"', '"0x00ff"', "1", '"0x' + "1" * 65 + '"', '"0x0a41"'])
def test_what_names_no_chain_is_malformed(told: str) -> None:
    with pytest.raises(MalformedError):
        decode_chain_id(told.encode())


@pytest.mark.parametrize(
    "told",
    [
        "null",
        '{"block_hash":"0x1"}',
        '{"block_hash":"0x1","block_number":-1}',
        '{"block_hash":"0x1","block_number":1.5}',
        '{"block_hash":"0x1","block_number":9223372036854775808}',
        '{"block_hash":1,"block_number":1}',
        '{"block_hash":"0x' + "f" * 64 + '","block_number":1}',
        "[" * 10_000,
    ],
)
def test_what_names_no_block_is_malformed(told: str) -> None:
    with pytest.raises(MalformedError):
        decode_head(told.encode())
