"""Light folders: begun in the middle, extended at both ends, pruned; and the errors for what is not there."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conformance.published_schemas import faults
from tests.drawing import examples
from tests.ethereum.lighting import Light, light_folder
from tests.ethereum.live.growing import EMITTERS, TOPICS, GrowingChain, emitting_genesis, growing_chain
from wsnode.ethereum.appender import recent_rows
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import verify_with_receipts
from wsnode.ethereum.execution import NoReceiptsError, ReceiptVerifier
from wsnode.ethereum.logs.filter import Log
from wsnode.ethereum.state import InvalidBlockError
from wsnode.ethereum.storage.errors import OtherKindError
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.ethereum.storage.tables import LOG_INDEX, META, TABLES, TOTALS
from wsnode.ethereum.tree.statuses import Status, ValidBlock
from wsnode.store.table import scan

LOGS: list[list[Log]] = [
    [],
    [(EMITTERS[0], TOPICS[:1])],
    [(EMITTERS[1], TOPICS[:2]), (EMITTERS[0], ()), (EMITTERS[0], TOPICS[:1])],
    [(EMITTERS[2], TOPICS[:3])] * 12,
]
FILTERS: list[dict[str, Any]] = [
    {},
    {"address": f"0x{EMITTERS[0].hex()}"},
    {"topics": [f"0x{TOPICS[0].hex()}"]},
    {"topics": [None, None]},
    {"address": [f"0x{each.hex()}" for each in EMITTERS[:2]], "topics": [f"0x{TOPICS[0].hex()}"]},
]


@pytest.fixture
def source(tmp_path: Path) -> Iterator[GrowingChain]:
    with growing_chain(tmp_path / "full") as growing:
        for number in range(20):
            growing.grow(LOGS[number % len(LOGS)])
        yield growing


@pytest.fixture
def light(tmp_path: Path, source: GrowingChain) -> Iterator[Light]:
    with light_folder(tmp_path / "light", source) as light:
        light.begin(10)
        light.follow()
        yield light


def require_equal(light: Light) -> None:
    """Compare everything from the first block on with the full chain."""
    with light.chain.snapshot() as view:
        first, last = view.earliest, view.number
    for number in range(first, last + 1):
        for method in ("eth_getBlockByNumber", "eth_getBlockReceipts"):
            params = [hex(number), True] if method == "eth_getBlockByNumber" else [hex(number)]
            assert light.result(method, *params) == light.ask_source(method, *params)["result"]
    for wanted in FILTERS:
        for begin in {first, (first + last) // 2}:
            asked = {"fromBlock": hex(begin), "toBlock": hex(last), **wanted}
            assert light.result("eth_getLogs", asked) == light.ask_source("eth_getLogs", asked)["result"]


def test_a_folder_begun_in_the_middle_answers_as_a_full_one(light: Light) -> None:
    assert light.chain.head == light.source.chain.head
    require_equal(light)
    assert light.result("eth_getBlockByNumber", "earliest", False)["number"] == "0xa"


def test_every_transaction_of_the_window_is_found_by_its_hash(light: Light) -> None:
    block = light.result("eth_getBlockByNumber", hex(12), True)
    for transaction in block["transactions"]:
        assert light.result("eth_getTransactionByHash", transaction["hash"]) == transaction
        asked = ("eth_getTransactionReceipt", transaction["hash"])
        assert light.result(*asked) == light.ask_source(*asked)["result"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_getBlockByNumber", ["0x9", False]),
        ("eth_getBlockReceipts", ["0x9"]),
        ("eth_getTransactionByBlockNumberAndIndex", ["0x9", "0x0"]),
        ("eth_getLogs", [{"fromBlock": "0x9"}]),
        ("wsnode_getLogsPage", [{"fromBlock": "0x9", "toBlock": "0xc"}]),
        ("debug_getRawBlock", ["0x9"]),
        ("debug_getRawReceipts", ["0x9"]),
        ("eth_feeHistory", ["0x1", "0x9", []]),
    ],
)
def test_a_block_below_the_first_one_is_a_typed_error(light: Light, method: str, params: list[Any]) -> None:
    error = light.error(method, *params)
    assert (error["code"], error["data"]) == (4444, {"requested": "0x9", "earliest": "0xa"})


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_getBalance", [f"0x{EMITTERS[0].hex()}", "latest"]),
        ("eth_getTransactionCount", [f"0x{EMITTERS[0].hex()}", "0xc"]),
        ("eth_getCode", [f"0x{EMITTERS[0].hex()}", "latest"]),
        ("eth_getStorageAt", [f"0x{EMITTERS[0].hex()}", "0x0", "latest"]),
        ("eth_call", [{"to": f"0x{EMITTERS[0].hex()}"}, "latest"]),
        ("eth_estimateGas", [{"to": f"0x{EMITTERS[0].hex()}"}]),
        ("eth_getProof", [f"0x{EMITTERS[0].hex()}", [], "latest"]),
        ("debug_traceBlockByNumber", ["latest"]),
    ],
)
def test_state_is_a_typed_error(light: Light, method: str, params: list[Any]) -> None:
    error = light.error(method, *params)
    assert (error["code"], error["data"]) == (4444, {"reason": "no state in a light folder"})


def test_a_range_of_fees_begins_with_the_first_block(light: Light) -> None:
    assert light.result("eth_feeHistory", "0x400", "latest", [50])["oldestBlock"] == "0xa"
    assert int(light.result("eth_gasPrice"), 16) > 0


def test_capabilities_say_what_there_is(light: Light) -> None:
    told = light.result("eth_capabilities")
    stored = {
        "disabled": False,
        "oldestBlock": "0xa",
        "deleteStrategy": {"type": "window", "retentionBlocks": "0x8"},
    }
    assert told["logs"] == told["blocks"] == told["tx"] == told["receipts"] == stored
    assert told["state"] == told["stateproofs"] == {"disabled": True}
    assert faults("eth_capabilities", told) == []


def test_blocks_put_below_are_found_like_the_others(light: Light) -> None:
    light.chain.prepend([light.told(number) for number in range(9, 2, -1)])
    require_equal(light)
    assert light.result("eth_getBlockByNumber", "earliest", False)["number"] == "0x3"


def test_the_genesis_block_is_put_below_the_others_and_pruned_like_them(light: Light) -> None:
    light.chain.prepend([light.told(number) for number in range(9, 0, -1)])
    light.chain.prepend_genesis()
    require_equal(light)
    genesis = light.result("eth_getBlockByNumber", "earliest", True)
    assert light.result("eth_getBlockByHash", genesis["hash"], True) == genesis
    assert genesis["number"] == "0x0"
    page = light.result("wsnode_getLogsPage", {"fromBlock": "0x0", "limit": "0x1"})
    assert page == light.ask_source("wsnode_getLogsPage", {"fromBlock": "0x0", "limit": "0x1"})["result"] | {
        "cursor": page["cursor"]
    }
    light.chain.prune(1)
    require_equal(light)
    assert light.error("eth_getBlockByNumber", "0x0", False)["data"]["earliest"] == "0x1"


def test_pruning_everything_but_the_head_leaves_nothing_behind(light: Light) -> None:
    light.chain.prune(10)
    require_equal(light)
    assert light.error("eth_getLogs", {"fromBlock": hex(19)})["code"] == 4444
    with light.chain.snapshot() as view:
        kept = {table.name: len(list(scan(view.reader, table, b""))) for table in TABLES if table != META}
        index = {key[0] for key, _row in scan(view.reader, LOG_INDEX, b"")}
        # The last block and its parent's totals; block 20 has twelve equal logs.
        assert (kept["headers"], kept["bodies"], kept["receipts"], kept["numbers"]) == (1, 1, 1, 1)
        assert (kept["totals"], kept["log_blocks"], kept["transactions"]) == (2, 1, 12)
        assert index == {0, 1, 2, 3, 5}
        assert view.log_count_before(20) > 1 << 40
        assert view.reader.get(TOTALS, (18).to_bytes(8, "big")) is None


def test_a_page_cursor_below_the_window_is_a_typed_error(light: Light) -> None:
    page = light.result("wsnode_getLogsPage", {"fromBlock": hex(10), "limit": "0x1"})
    assert light.result("wsnode_getLogsPage", {"fromBlock": hex(10), "cursor": page["cursor"]})["logs"]
    light.chain.prune(8)
    error = light.error("wsnode_getLogsPage", {"fromBlock": hex(10), "cursor": page["cursor"]})
    assert (error["code"], error["data"]) == (4444, {"requested": "0x11", "earliest": "0x12"})
    light.source.grow()
    light.follow()
    light.chain.prune(3)
    error = light.error("wsnode_getLogsPage", {"fromBlock": hex(10), "cursor": page["cursor"]})
    assert (error["code"], error["data"]) == (4444, {"requested": "0x14", "earliest": "0x15"})


def test_a_reorganisation_is_followed_and_can_be_taken_back(light: Light) -> None:
    old = light.chain.head
    removed = light.source.shrink(3)
    light.source.grow(LOGS[2])
    light.source.grow(LOGS[1])
    light.follow()
    require_equal(light)
    assert light.result("eth_getBlockReceipts", f"0x{old.hash.hex()}") is not None
    light.source.shrink(2)
    light.source.return_to(removed)
    light.follow()
    assert light.chain.head == old
    require_equal(light)


def test_what_was_judged_above_a_block_that_left_the_chain_stays_judged(light: Light) -> None:
    light.follow()
    below = light.chain.head.number - 1
    for _ in range(3):
        judge(light, light.source.grow().number)
    with light.chain.snapshot() as view:
        parent = view.hash_of(below)
    assert parent is not None
    light.tree.set_head(parent)
    assert isinstance(judge(light, light.source.grow().number), ValidBlock)
    light.tree.set_head(light.source.chain.head.hash)
    assert light.chain.head == light.source.chain.head


def judge(light: Light, number: int) -> Status:
    """Return the status of a block of the source, once it was told."""
    told = light.told(number)
    assert light.chain.receipt_verified is not None
    light.chain.receipt_verified.tell([told])
    return light.tree.judge(light.unverified(told.hash))


def test_blocks_beside_the_chain_are_pruned_with_the_window(light: Light) -> None:
    light.source.reorganise(3, [LOGS[1]] * 4)
    light.follow()
    old = f"0x{light.source.blocks[-1].head.hash.hex()}"
    light.source.reorganise(2, [LOGS[2]] * 12)
    light.follow()
    assert light.result("eth_getBlockByHash", old, False) is not None
    light.chain.prune(9)
    start = light.chain.prune_side(b"", 2)
    while start:
        start = light.chain.prune_side(start, 2)
    assert light.result("eth_getBlockByHash", old, False)["number"] == "0x15"
    light.chain.prune(10)
    light.chain.prune_side(b"", 100)
    assert light.result("eth_getBlockByHash", old, False) is None


def test_receipts_of_another_block_are_refused(light: Light) -> None:
    block = light.told(12)
    for number in (11, 13):
        error = verify_with_receipts(light.chain.spec, light.unverified(block.hash), light.receipts(number))
        assert isinstance(error, InvalidBlockError)
        assert error.rule == "receipts_root"


def test_no_flipped_byte_of_the_receipts_is_taken(light: Light) -> None:
    block, receipts = light.unverified(light.told(15).hash), light.receipts(15)
    for place in range(len(receipts)):
        changed = receipts[:place] + bytes([receipts[place] ^ 1]) + receipts[place + 1 :]
        judged = verify_with_receipts(light.chain.spec, block, changed)
        # What the row repeats, such as how many logs come before a receipt, is written anew.
        assert isinstance(judged, InvalidBlockError) or judged.receipts == receipts


def test_a_block_without_receipts_is_not_judged(light: Light) -> None:
    light.source.grow(LOGS[1])
    with pytest.raises(NoReceiptsError):
        light.tree.judge(light.unverified(light.source.chain.head.hash))


def test_blocks_told_together_are_kept_together_whatever_their_size(light: Light) -> None:
    source, chain = light.source, light.chain
    told = [light.told(source.grow(LOGS[3]).number) for _ in range(3)]
    blocks = [light.unverified(block.hash) for block in told]
    executor = ReceiptVerifier(chain.store, chain.spec, chain.state, most_bytes=told[0].size)
    executor.tell(told[:1])
    executor.tell(told[1:])
    with chain.snapshot() as view:
        before, total = recent_rows(view), view.total_difficulty(view.number)
    # The two fill more than the bound, so the one before them has made room for them.
    with pytest.raises(NoReceiptsError):
        executor.execute(blocks[:1], before, total_difficulty=total)
    executor.tell(told)
    run = executor.execute(blocks, before, total_difficulty=total)
    assert ([block.hash for block in run.verified], run.error) == ([block.hash for block in blocks], None)


def test_a_folder_stays_what_it_was_made_as(tmp_path: Path) -> None:
    with growing_chain(tmp_path / "full") as source, light_folder(tmp_path / "light", source) as light:
        assert light.chain.window == 8
    for folder, words in (("full", "a full folder"), ("light", "a light folder of 8 blocks")):
        with pytest.raises(OtherKindError, match=f"is {words}, not a light folder of 9 blocks"):
            Chain.open(tmp_path / folder, emitting_genesis(), writer=True, kind=FolderKind(9, is_light=True))
        with pytest.raises(OtherKindError, match=f"is {words}, not a full folder of 8 blocks"):
            Chain.open(tmp_path / folder, emitting_genesis(), writer=True, kind=FolderKind(8))


def test_a_light_folder_is_refused_where_blocks_are_to_be_executed(light: Light) -> None:
    light.source.chain.require_full()
    with pytest.raises(OtherKindError, match="is a light folder of 8 blocks, not a full folder"):
        light.chain.require_full()


def test_a_reader_sees_what_the_writer_has_kept(tmp_path: Path, source: GrowingChain) -> None:
    with light_folder(tmp_path / "light", source) as light:
        light.begin(10)
        light.follow()
        light.chain.prune(2)
        head = light.chain.head
    with Chain.open(tmp_path / "light", writer=False) as reader, reader.snapshot() as view:
        assert (reader.window, view.head, view.earliest) == (8, head, 12)


def test_a_light_folder_opened_again_goes_on(tmp_path: Path, source: GrowingChain) -> None:
    with light_folder(tmp_path / "light", source) as light:
        light.begin(10)
        light.follow()
        head = light.chain.head
    source.grow(LOGS[3])
    with light_folder(tmp_path / "light", source) as light:
        assert (light.chain.head, light.chain.has_begun) == (head, True)
        light.follow()
        require_equal(light)


@pytest.mark.slow
@settings(
    max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 10**6))
def test_a_light_folder_is_a_full_chain_from_its_first_block_on(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    chosen = random.Random(seed)
    folder = tmp_path_factory.mktemp("model")
    with growing_chain(folder / "full") as source, light_folder(folder / "light", source) as light:
        for _ in range(12):
            source.grow(chosen.choice(LOGS))
        light.begin(chosen.randint(1, 12))
        for _ in range(12):
            first = light.chain.snapshot().earliest
            match chosen.randint(0, 4):
                case 0 | 1:
                    source.grow(chosen.choice(LOGS))
                case 2:
                    depth = chosen.randint(0, max(0, source.chain.head.number - first - 1))
                    source.reorganise(min(depth, 3), [chosen.choice(LOGS)] * chosen.randint(1, 4))
                case 3 if first == 1:
                    light.chain.prepend_genesis()
                case 3 if first > 1:
                    low = chosen.randint(max(first - 3, 1), first - 1)
                    light.chain.prepend([light.told(number) for number in range(first - 1, low - 1, -1)])
                case 4 if light.chain.head.number - first > 4:
                    light.chain.prune(chosen.randint(1, 3))
            light.follow()
            require_equal(light)
