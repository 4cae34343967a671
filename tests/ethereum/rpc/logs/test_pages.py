import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from tests.ethereum.rpc.logs.test_methods import Logs, all_logs, filters, shared_chain
from tests.memory_transport import Ask, Client, asking, memory_transport
from tests.reply_schemas import validating
from tests.sync.forks import branch, genesis
from tests.sync.test_importer_branches import NEW, OLD, take
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.logs.cursor import LogCursor
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.logs import methods as logs
from wsnode.ethereum.rpc.logs import pages as log_pages
from wsnode.ethereum.rpc.logs.cursor import digest_of
from wsnode.ethereum.rpc.logs.filter_object import decode_filter_object
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.registry import Registry

__all__ = ["all_logs"]

METHOD = "wsnode_getLogsPage"
EVERYTHING = {"fromBlock": "earliest"}


def pages(ask: Ask, log_filter: dict[str, Any], **members: Any) -> Iterator[dict[str, Any]]:
    cursor = None
    while True:
        page = ask(METHOD, {**log_filter, **members, "cursor": cursor})["result"]
        yield page
        cursor = page["cursor"]
        if cursor is None:
            return


def asking_for_pages(chain: Chain, page_bytes: int) -> Ask:
    registry = build_registry(chain, limits=CallLimits(logs_page_bytes=page_bytes))
    return validating(asking(Dispatcher(registry, chain.snapshot)))


def asking_for_logs_alone(chain: Chain, page_bytes: int) -> Ask:
    """Return an `Ask` without other methods and without checks of the replies' form: both take long."""
    registry, limits = Registry(), CallLimits(logs_page_bytes=page_bytes)
    for module in (logs, log_pages):
        module.add_methods(registry, limits)
    return asking(Dispatcher(registry, chain.snapshot))


def text_size(value: Any) -> int:
    return len(json.dumps(value, separators=(",", ":")))


@pytest.mark.slow
@shared_chain
@given(
    data=st.data(),
    limit=st.none() | st.integers(1, 60),
    page_bytes=st.integers(1, 8_000) | st.just(CallLimits().logs_page_bytes),
)
def test_the_pages_together_are_the_whole_answer(
    data: st.DataObject, limit: int | None, page_bytes: int, execution_apis_chain: Chain, all_logs: Logs
) -> None:
    log_filter = data.draw(filters(all_logs))
    ask = asking_for_logs_alone(execution_apis_chain, page_bytes)
    whole = ask("eth_getLogs", log_filter)["result"]
    found = list(pages(ask, log_filter, limit=limit))
    assert [log for page in found for log in page["logs"]] == whole
    for page in found:
        shown = page["logs"]
        assert limit is None or len(shown) <= limit
        assert len(shown) <= 1 or text_size(shown) <= page_bytes + 2
        assert shown or not whole
        assert int(page["block"]["number"], 16) == int(log_filter["toBlock"], 16)


@pytest.mark.slow
def test_the_limit_ends_a_page_and_nothing_follows_the_last_one(
    execution_apis_chain: Chain, all_logs: Logs
) -> None:
    ask = asking_for_pages(execution_apis_chain, 1 << 30)
    assert [len(page["logs"]) for page in pages(ask, EVERYTHING, limit=len(all_logs))] == [len(all_logs)]
    sizes = [len(page["logs"]) for page in pages(ask, EVERYTHING, limit=hex(len(all_logs) - 1))]
    assert sizes == [len(all_logs) - 1, 1]


def test_every_reply_is_below_one_mebibyte(dispatcher: Dispatcher, all_logs: Logs) -> None:
    send = memory_transport(dispatcher, Client())
    cursor, count = None, 0
    while count == 0 or cursor is not None:
        params = [{**EVERYTHING, "cursor": cursor}]
        reply = send(json.dumps({"jsonrpc": "2.0", "id": "x" * 3000, "method": METHOD, "params": params}))
        assert reply is not None
        assert len(reply) < 1 << 20
        page = json.loads(reply)["result"]
        cursor, count = page["cursor"], count + len(page["logs"])
    assert count == len(all_logs)


def test_a_cursor_survives_a_restart(execution_apis_chain: Chain, all_logs: Logs) -> None:
    first, second = (asking_for_pages(execution_apis_chain, 4_000) for _ in range(2))
    page = first(METHOD, EVERYTHING)["result"]
    after = second(METHOD, {**EVERYTHING, "cursor": page["cursor"]})["result"]["logs"]
    assert page["logs"] + after == all_logs[: len(page["logs"]) + len(after)]


@pytest.mark.parametrize(
    ("log_filter", "cursor"),
    [
        (EVERYTHING, "AdImNx0LFVGtsD-1K3Hwjj4RJH_psa-ZR2ivjNqo59zXAAAAAAAAAAPnIiEDuY2JvQ=="),
        (
            {"fromBlock": "0x1", "toBlock": "0x2d"},
            "AeQWXVpuTTFGn0qTVMML_-xjOmQJQLQLwLwa6G0bORZDAAAAAAAAAAMEGYAxJIo0Ng==",
        ),
    ],
    ids=["to the head", "to a block"],
)
def test_cursors_of_the_first_version_go_on_behind_the_third_log(
    ask: Ask, log_filter: dict[str, Any], cursor: str, all_logs: Logs
) -> None:
    page = ask(METHOD, {**log_filter, "limit": 2, "cursor": cursor})["result"]
    assert page["logs"] == all_logs[3:5]
    assert base64.urlsafe_b64decode(page["cursor"])[0] == 2
    following = ask(METHOD, {**log_filter, "limit": 2, "cursor": page["cursor"]})["result"]
    assert (following["logs"], following["block"]) == (all_logs[5:7], page["block"])


def test_a_block_by_its_hash_has_pages_too(ask: Ask, all_logs: Logs) -> None:
    block_hash = all_logs[0]["blockHash"]
    found = [log for page in pages(ask, {"blockHash": block_hash}, limit=1) for log in page["logs"]]
    assert found == ask("eth_getLogs", {"blockHash": block_hash})["result"]
    assert ask(METHOD, {"blockHash": "0x" + "13" * 32}) == {
        "error": {"code": -32000, "message": "unknown block"}
    }


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"cursor": "AAAA"}, "invalid argument 0: invalid cursor"),
        ({"cursor": 1}, "invalid argument 0: invalid cursor"),
        ({"cursor": "ä"}, "invalid argument 0: invalid cursor"),
        ({"limit": 0}, "invalid argument 0: limit must be at least 1"),
        ({"limit": "0x0"}, "invalid argument 0: limit must be at least 1"),
        ({"limit": True}, "invalid argument 0: json: cannot unmarshal bool into Go value of type limit"),
        ({"limit": "ten"}, "invalid argument 0: hex string without 0x prefix"),
        ({"topics": [None] * 5}, "invalid argument 0: exceed max topics"),
        ({"fromBlock": "0x2", "toBlock": "0x1"}, "invalid block range params"),
        ({"limits": 5}, "unknown member limits, did you mean limit?"),
        ({"Cursor": None}, "unknown member Cursor, did you mean cursor?"),
        ({"adress": None}, "unknown member adress, did you mean address?"),
        (
            {"pageSize": 5},
            "unknown member pageSize, "
            "there are address, blockHash, cursor, fromBlock, limit, toBlock, topics",
        ),
    ],
)
def test_what_is_wrong_with_a_page_is_said(members: dict[str, Any], message: str, ask: Ask) -> None:
    assert ask(METHOD, members) == {"error": {"code": -32602, "message": message}}


def test_a_cursor_is_of_its_filter_alone(ask: Ask) -> None:
    cursor = ask(METHOD, {**EVERYTHING, "limit": 1})["result"]["cursor"]
    refused = {"error": {"code": -32602, "message": "the cursor belongs to another filter"}}
    assert ask(METHOD, {**EVERYTHING, "topics": [None], "cursor": cursor}) == refused
    assert ask(METHOD, {"cursor": cursor}) == refused


def test_blocks_that_arrive_between_two_pages_change_nothing(tmp_path: Path) -> None:
    with (
        branch(tmp_path / "old") as old,
        Chain.open(tmp_path / "chain", genesis(merged=False), writer=True, durable=False) as chain,
    ):
        ask = asking(Dispatcher(build_registry(chain), chain.snapshot))
        trio.run(take, chain, [old.mine(coinbase=OLD)])
        block = ask(METHOD, EVERYTHING)["result"]["block"]
        trio.run(take, chain, [old.mine(coinbase=OLD)])
        page = ask(METHOD, {**EVERYTHING, "cursor": cursor_of(block)})["result"]
        assert page == {"logs": [], "cursor": None, "block": block}
        assert ask(METHOD, EVERYTHING)["result"]["block"]["number"] == "0x2"


def test_a_cursor_of_a_chain_that_was_left_is_refused_and_says_why(tmp_path: Path) -> None:
    with (
        branch(tmp_path / "old") as old,
        branch(tmp_path / "new") as new,
        Chain.open(tmp_path / "chain", genesis(merged=False), writer=True, durable=False) as chain,
    ):
        ask = asking(Dispatcher(build_registry(chain), chain.snapshot))
        trio.run(take, chain, [old.mine(coinbase=OLD) for _ in range(2)])
        block = ask(METHOD, EVERYTHING)["result"]["block"]
        cursor = cursor_of(block)
        assert ask(METHOD, {**EVERYTHING, "cursor": cursor})["result"] == {
            "logs": [],
            "cursor": None,
            "block": block,
        }
        trio.run(take, chain, [new.mine(coinbase=NEW, seconds=1) for _ in range(3)])
        assert ask(METHOD, {**EVERYTHING, "cursor": cursor}) == {
            "error": {
                "code": -32001,
                "message": "the chain was reorganised: the cursor's block is not canonical any more",
                "data": {"reason": "reorganised", "blockHash": block["hash"]},
            }
        }


def cursor_of(block: dict[str, str]) -> str:
    """Return the cursor of the filter for everything, on a chain without logs."""
    number, block_hash = int(block["number"], 16), Hash32.fromhex(block["hash"][2:])
    return str(LogCursor(number, block_hash, 0, digest_of(decode_filter_object(EVERYTHING))))
