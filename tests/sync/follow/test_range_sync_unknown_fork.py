"""Upstreams whose chain has passed a fork that is not known here: a limit of ours, and no fault of theirs."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.ethereum.live.growing import SENDER, growing_chain
from tests.memory_transport import asking
from tests.sync.follow.world import NOT_SAID, Source, followed, sources_of
from tests.upstream.providers import Error
from wsnode.demo.genesis import contracts_of, development_genesis
from wsnode.ethereum.codec.blocks import decode_blocks, keccak256
from wsnode.ethereum.codec.rlp import KNOWN_MEMBERS, block_hash, block_number, header_members
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.sync.follow.range_sync import FAR
from wsnode.sync.follow.sync_report import SyncStage, described

TIME = 1_700_000_000
SECONDS = 12
"""Between two blocks of a source."""
MORE = {"aHash": "0x" + "11" * 32, "aNumber": "0x7"}
RAW_MORE = b"\xa0" + b"\x11" * 32 + b"\x07" * 7


def rlp_list(content: bytes) -> bytes:
    if len(content) < 56:
        return bytes([0xC0 + len(content)]) + content
    size = len(content).to_bytes(4, "big").lstrip(b"\0")
    return bytes([0xF7 + len(size)]) + size + content


def list_at(encoded: bytes) -> tuple[bytes, bytes]:
    """Return the content of the list at the start, and what follows it."""
    first = encoded[0]
    begin, size = 1, first - 0xC0
    if first > 0xF7:
        begin = 1 + first - 0xF7
        size = int.from_bytes(encoded[1:begin], "big")
    return encoded[begin : begin + size], encoded[begin + size :]


class Ahead:
    """A source's last blocks with more members in their headers, as after a fork to come."""

    def __init__(self, source: Source, first: int) -> None:
        self._source = source
        self.told: dict[str, dict[str, Any]] = {}
        self.raw: dict[str, str] = {}
        parent = bytes.fromhex(self._block(first)["parentHash"][2:])
        for number in range(first, source.head.number + 1):
            parent = self._make(number, parent)
        source.overrides["eth_getBlockByNumber"] = self._by_name
        source.overrides["eth_getBlockByHash"] = self._by_name
        source.overrides["debug_getRawBlock"] = lambda params: self.raw.get(params[0], NOT_SAID)

    def _block(self, number: int) -> dict[str, Any]:
        block: dict[str, Any] = self._source._ask("eth_getBlockByNumber", hex(number), True)["result"]
        return block

    def _make(self, number: int, parent: bytes) -> bytes:
        encoded = bytes.fromhex(self._source._ask("debug_getRawBlock", hex(number))["result"][2:])
        block, _nothing = list_at(encoded)
        header, body = list_at(block)
        # The first member of a header is the parent's hash, in 33 bytes.
        header = rlp_list(header[:1] + parent + header[33:] + RAW_MORE)
        made = keccak256(header)
        told = {**self._block(number), **MORE, "hash": f"0x{made.hex()}", "parentHash": f"0x{parent.hex()}"}
        raw = "0x" + rlp_list(header + body).hex()
        assert block_hash(bytes.fromhex(raw[2:])) == made
        for name in (hex(number), told["hash"], "latest"):
            self.told[name], self.raw[name] = told, raw
        return made

    def _by_name(self, params: list[Any]) -> Any:
        return self.told.get(params[0], NOT_SAID)


@pytest.mark.parametrize("is_raw", [True, False], ids=["rlp", "json"])
@pytest.mark.parametrize("behind", [0, 3, FAR + 5], ids=["at-the-fork", "near", "far"])
async def test_the_head_stays_before_the_fork_and_the_upstream_followed(
    tmp_path: Path,
    nursery: trio.Nursery,
    caplog: pytest.LogCaptureFixture,
    behind: int,
    *,
    is_raw: bool,
) -> None:
    caplog.set_level(logging.INFO)
    with sources_of(tmp_path, ("a", "b"), nursery) as sources:
        known = sources["a"].head.number + behind
        for source in sources.values():
            source.grow(behind + 3)
            Ahead(source, known + 1)
            if not is_raw:
                source.overrides["debug_getRawBlock"] = lambda _params: Error(-32601, "no such method")
        async with followed(tmp_path, sources) as world:
            await world.until(lambda: all(each.is_beyond for each in world.follower.upstreams))
            await world.until(lambda: world.hub.head.number == known)
            with sources["a"].growing.chain.snapshot() as view:
                assert world.hub.head.hash == view.hash_of(known)
            sources["a"].grow()
            Ahead(sources["a"], known + 1)
            asked = sources["a"].asked.total()
            await sources["a"].tell()
            await world.until(lambda: sources["a"].asked.total() > asked)

            for upstream in world.follower.upstreams:
                told = described(upstream)
                assert told["state"] == "followed"
                assert f"block {known + 1} is of a fork that this version does not know" in told["reason"]
            assert world.hub.head.number == known
            height = world.follower.announced_height()
            assert height is not None
            assert height > known
    # An upstream that ends with the test may be told of too, as a warning.
    (line,) = [record.message for record in caplog.records if record.levelno >= logging.ERROR]
    assert "follow on with a newer version of wsnode" in line


@pytest.mark.parametrize("behind", [0, 3, FAR + 5], ids=["at-the-fork", "near", "far"])
async def test_a_fork_that_the_genesis_does_not_schedule_is_named_and_a_newer_genesis_goes_on(
    tmp_path: Path, nursery: trio.Nursery, caplog: pytest.LogCaptureFixture, behind: int
) -> None:
    caplog.set_level(logging.INFO)
    older = development_genesis([SENDER], 1, TIME, fork="osaka", accounts=contracts_of("amsterdam"))
    newer, known = json.loads(older), behind
    newer["config"]["amsterdamTime"] = TIME + SECONDS * (known + 1)
    told = (older, json.dumps(newer).encode())
    with sources_of(tmp_path, ("a", "b"), nursery, told[1]) as sources:
        for source in sources.values():
            source.grow(behind + 3)
        async with followed(tmp_path, sources, genesis=told[0]) as world:
            await world.until(lambda: all(each.is_beyond for each in world.follower.upstreams))
            await world.until(lambda: world.hub.head.number == known)
            sentence = world.follower.not_ready_reason()
            assert sentence is not None
            assert f"block {known + 1} has header members of Amsterdam" in sentence
            assert "config.amsterdamTime" in sentence
            for upstream in world.follower.upstreams:
                assert (described(upstream)["state"], described(upstream)["reason"]) == ("followed", sentence)
        (line,) = [record.message for record in caplog.records if record.levelno >= logging.ERROR]
        assert line == sentence
        async with followed(tmp_path, sources, genesis=told[1]) as world:
            await world.until_at(sources["a"].head)
            await world.until_stage(SyncStage.LIVE)
            assert world.follower.not_ready_reason() is None


async def test_blocks_of_an_upstream_that_goes_back_before_the_fork_are_taken(
    tmp_path: Path, nursery: trio.Nursery
) -> None:
    with sources_of(tmp_path, ("a",), nursery) as sources:
        source = sources["a"]
        async with followed(tmp_path, sources) as world:
            await world.until_stage(SyncStage.LIVE)
            source.grow()
            Ahead(source, source.head.number)
            await source.tell()
            (upstream,) = world.follower.upstreams
            await world.until(lambda: upstream.is_beyond)
            source.overrides.clear()
            await source.tell()
            await world.until_at(source.head)
            assert (upstream.is_beyond, upstream.why) == (False, "")


def test_headers_of_all_known_forks_are_known(tmp_path: Path) -> None:
    with growing_chain(tmp_path) as growing:
        ask = asking(Dispatcher(build_registry(growing.chain), growing.chain.snapshot))
        whole = bytes.fromhex(ask("debug_getRawBlock", "latest")["result"][2:])
        block, _nothing = list_at(whole)
        header, body = list_at(block)
        missing = KNOWN_MEMBERS - header_members(whole)
        said = f"at most {KNOWN_MEMBERS} members in the header"
        for more, is_known in ((missing, True), (missing + 1, False)):
            encoded = rlp_list(rlp_list(header + b"\x07" * more) + body)
            assert header_members(encoded) == KNOWN_MEMBERS + (not is_known)
            assert block_number(encoded) == growing.chain.head.number
            _blocks, error = decode_blocks(growing.chain.spec, [encoded])
            assert error is not None
            assert (error.expected != said) == is_known
