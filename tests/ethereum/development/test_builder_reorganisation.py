"""The last blocks replaced by others: readers see those before or those after, and what becomes of their
transactions.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.growing import new_chain
from tests.ethereum.development.playground import (
    CREATOR,
    RECIPIENT,
    STRANGER,
    Playground,
    RefusedError,
    playground,
)
from tests.ethereum.tree.watching import watched_heads
from tests.file_limits import files_of_at_most
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.development import builder as subject
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.head import Head
from wsnode.ethereum.storage import meta

NOBODY = bytes(20)
EPOCH = 2


def name(block: dict[str, Any]) -> dict[str, str]:
    return {"number": block["number"], "hash": block["hash"]}


def test_blocks_are_replaced_and_their_transactions_wait_again(chain: Playground) -> None:
    sent = [chain.send() for _ in range(3)]
    before = [name(chain.block(number)) for number in range(4)]
    times = [chain.time(number) for number in range(4)]
    done = chain("wsnode_reorg", {"depth": 2})
    after = [name(chain.block(number)) for number in range(4)]
    assert done == {
        "commonAncestor": before[1],
        "dropped": [before[3], before[2]],
        "added": [after[2], after[3]],
    }
    assert before[2] not in after
    assert [chain.time(number) for number in range(4)] == times
    assert chain.receipt(sent[0]) is not None
    assert (chain.receipt(sent[1]), chain.receipt(sent[2])) == (None, None)
    assert (chain.pool, chain.nonce(CREATOR)) == ((2, 0), 1)
    chain("evm_mine")
    assert chain.block()["transactions"] == sent[1:]


def test_there_is_room_below_the_head_to_reorganise(chain: Playground) -> None:
    assert [int(chain.block(tag)["number"], 16) for tag in ("safe", "finalized")] == [0, 0]
    chain("anvil_mine", 70)
    assert [int(chain.block(tag)["number"], 16) for tag in ("safe", "finalized")] == [38, 6]
    chain("wsnode_reorg", {"depth": 40})
    assert [int(chain.block(tag)["number"], 16) for tag in ("safe", "finalized")] == [38, 6]


def test_an_empty_block_is_replaced_by_another_one(chain: Playground) -> None:
    chain("evm_mine")
    before = chain.block()["hash"]
    chain("wsnode_reorg", {"depth": 1})
    first = chain.block()["hash"]
    chain("wsnode_reorg", {"depth": 1})
    assert len({before, first, chain.block()["hash"]}) == 3


def test_given_transactions_take_the_place_of_those_dropped(chain: Playground) -> None:
    dropped = chain.send(value="0x7")
    raw = chain("eth_signTransaction", {"from": RECIPIENT, "to": CREATOR, "value": "0x3"})
    placed = [
        {"from": CREATOR, "to": STRANGER, "value": "0x9"},
        [{"from": CREATOR, "to": STRANGER}, "0x0"],
        raw,
    ]
    done = chain("wsnode_reorg", {"depth": 1, "transactions": placed})
    assert "refused" not in done
    assert len(chain.block()["transactions"]) == 3
    assert chain.balance(STRANGER) == 9
    assert (chain.nonce(CREATOR), chain.nonce(RECIPIENT)) == (2, 1)
    # Another transaction has its nonce now, so it is gone.
    assert (chain.receipt(dropped), chain.pool) == (None, (0, 0))


def test_transactions_are_placed_in_the_blocks_of_the_branch(chain: Playground) -> None:
    chain("anvil_mine", 3)
    placed = [[{"from": CREATOR, "to": STRANGER, "value": hex(1 + place)}, place] for place in range(3)]
    assert chain("anvil_reorg", 3, placed) is None
    assert [chain.balance(STRANGER, hex(number)) for number in (0, 1, 2, 3)] == [0, 1, 3, 6]
    assert chain.head == 3


def test_anvils_method_forgets_the_dropped_transactions_and_no_others(chain: Playground) -> None:
    chain.send()
    waiting = chain.send(nonce="0x5")
    assert chain("anvil_reorg", 1, []) is None
    assert chain.pool == (0, 1)
    assert chain("anvil_dropTransaction", waiting) == waiting
    assert chain.nonce(CREATOR) == 0


@pytest.mark.parametrize("method", ["anvil_reorg", "wsnode_reorg"])
@pytest.mark.parametrize(
    "fees", [{}, {"maxPriorityFeePerGas": "0x1"}, {"gasPrice": hex(10**10)}], ids=["none", "tip", "price"]
)
def test_fees_are_those_of_the_block_that_takes_a_transaction(
    fees: dict[str, str], method: str, chain: Playground
) -> None:
    # The base fee is a hundredth of what it was, and so would fees be that follow from the head.
    chain("anvil_mine", 40)
    call = {"from": CREATOR, "to": STRANGER, "value": "0x1", **fees}
    placed = [[call, place] for place in (0, 0, 20, 39)]
    chain("anvil_impersonateAccount", STRANGER)
    if method == "anvil_reorg":
        assert chain(method, 40, placed) is None
    else:
        assert "refused" not in chain(method, {"depth": 40, "transactions": placed})
    assert (chain.nonce(CREATOR), chain.balance(STRANGER)) == (4, 4)
    for number, count in ((1, 2), (21, 1), (40, 1)):
        block = chain("eth_getBlockByNumber", hex(number), True)
        assert len(block["transactions"]) == count
        base_fee = int(block["baseFeePerGas"], 16)
        assert all(int(each["gasPrice"], 16) >= base_fee for each in block["transactions"])
        if not fees:
            highest = [int(each["maxFeePerGas"], 16) for each in block["transactions"]]
            assert highest == [2 * base_fee + 1_000_000] * count


def test_nonces_follow_from_the_branch_whether_transactions_are_signed_or_not(chain: Playground) -> None:
    chain.send()
    chain("anvil_mine", 3)
    raw = [
        chain("eth_signTransaction", {"from": CREATOR, "to": STRANGER, "value": "0x1", "nonce": hex(nonce)})
        for nonce in (1, 3)
    ]
    call = {"from": CREATOR, "to": STRANGER, "value": "0x1"}
    placed = [[raw[0], 0], [call, 0], [raw[1], 2], [call, 2], [{**call, "nonce": "0x9"}, 2], [call, 2]]
    done = chain("wsnode_reorg", {"depth": 3, "transactions": placed})
    assert [each["index"] for each in done["refused"]] == [4]
    assert chain.nonce(CREATOR) == 6


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("anvil_reorg", {"depth": 2, "tx_block_pairs": [[{"from": CREATOR, "to": STRANGER}, 1]]}),
        ("anvil_reorg", [2, [[{"from": CREATOR, "to": STRANGER}, 1]]]),
        ("wsnode_reorg", {"depth": "0x2", "transactions": [[{"from": CREATOR, "to": STRANGER}, 1]]}),
    ],
)
def test_parameters_may_be_the_object_itself(method: str, params: Any, chain: Playground) -> None:
    chain("anvil_mine", 2)
    before = chain.block(2)["hash"]
    assert "result" in chain.ask(method, params)
    assert (chain.head, len(chain.block()["transactions"])) == (2, 1)
    assert chain.block(2)["hash"] != before


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"depth": 1}, "missing required field 'tx_block_pairs'"),
        ({"tx_block_pairs": []}, "missing required field 'depth'"),
        ({"depth": 1, "txBlockPairs": []}, "unknown member txBlockPairs"),
        ({"depth": None, "tx_block_pairs": []}, "missing value for required argument 0"),
        ({"depth": "soon", "tx_block_pairs": []}, "invalid argument 0: expected a number"),
        ({"depth": 1, "tx_block_pairs": 5}, "invalid argument 1: json: cannot unmarshal number"),
    ],
)
def test_what_does_not_fit_an_object_is_said(params: Any, words: str, chain: Playground) -> None:
    chain("evm_mine")
    before = chain.block()
    error = chain.ask("anvil_reorg", params)["error"]
    assert (error["code"], words in error["message"]) == (-32602, True), error
    assert chain.block() == before


def test_what_a_new_block_refuses_is_named(chain: Playground) -> None:
    chain("evm_mine")
    placed = [
        {"from": CREATOR, "to": STRANGER, "nonce": "0x5"},
        {"from": CREATOR, "to": STRANGER, "nonce": "0x0"},
    ]
    done = chain("wsnode_reorg", {"depth": 1, "transactions": placed})
    assert [each["index"] for each in done["refused"]] == [0]
    assert "nonce" in done["refused"][0]["reason"]
    assert len(chain.block()["transactions"]) == 1


@pytest.mark.parametrize(
    ("method", "params", "words"),
    [
        ("wsnode_reorg", [{"depth": 3}], "current height 2, depth 3"),
        ("anvil_reorg", [3, []], "current height 2, depth 3"),
        ("anvil_reorg", [1, [[{"from": CREATOR, "to": STRANGER}, 1]]], r"must not exceed \(depth-1\) 0"),
        ("anvil_reorg", [1, [["0x02", 0]]], "Failed to decode transaction"),
        ("anvil_reorg", [1, [[{"from": STRANGER, "to": CREATOR}, 0]]], "unknown account"),
        ("anvil_reorg", [1], "missing value for required argument 1"),
        (
            "anvil_reorg",
            [1, [[{"from": CREATOR, "maxFeePerGas": "0x1", "maxPriorityFeePerGas": "0x2"}, 0]]],
            "maxFeePerGas",
        ),
        ("anvil_reorg", [1, [[{"from": CREATOR}, 0]]], "contract creation without any data"),
        ("wsnode_reorg", [{"depht": 3}], "unknown member depht"),
        ("wsnode_reorg", [{}], "missing required field 'depth'"),
        ("wsnode_reorg", [1], "cannot unmarshal number"),
    ],
)
def test_what_cannot_be_done_changes_nothing(
    method: str, params: list[Any], words: str, chain: Playground
) -> None:
    chain("anvil_mine", 2)
    before = chain.block()
    with pytest.raises(RefusedError, match=words):
        chain(method, *params)
    assert chain.block() == before


def test_a_snapshot_of_a_dropped_block_is_forgotten_and_an_older_one_kept(chain: Playground) -> None:
    chain("evm_mine")
    older = chain("evm_snapshot")
    chain("evm_mine")
    newer = chain("evm_snapshot")
    chain("wsnode_reorg", {"depth": 1})
    assert chain("evm_revert", newer) is False
    assert chain("evm_revert", older) is True
    assert chain.head == 1


def test_pending_transactions_are_told_once_however_blocks_come_and_go(chain: Playground) -> None:
    filtered = chain("eth_newPendingTransactionFilter")
    taken = chain("evm_snapshot")
    sent = chain.send()
    assert chain("eth_getFilterChanges", filtered) == [sent]
    chain("evm_revert", taken)
    assert chain("eth_getFilterChanges", filtered) == []
    again = chain.send(value="0x5")
    chain("anvil_reorg", 1, [])
    assert chain("eth_getFilterChanges", filtered) == [again]
    # This one does wait again.
    last = chain.send(value="0x6")
    chain("wsnode_reorg", {"depth": 1})
    assert chain("eth_getFilterChanges", filtered) == [last, last]


def extend(builder: BlockBuilder, blocks: int, salt: bytes = b"") -> list[Head]:
    return [
        builder.append([], timestamp=builder.tip.timestamp + 12, fee_recipient=NOBODY, salt=salt).head
        for _ in range(blocks)
    ]


def heads(chain: Chain) -> list[Head]:
    """Return all blocks, lowest first."""
    with chain.snapshot() as view:
        found = [(number, view.hash_of(number)) for number in range(view.number + 1)]
    return [Head(number, block_hash) for number, block_hash in found if block_hash is not None]  # type: ignore[arg-type]


def marks(chain: Chain) -> tuple[Head | None, Head | None]:
    with chain.snapshot() as view:
        safe, finalized = (meta.marked_head(view.reader, mark) for mark in (meta.SAFE, meta.FINALIZED))
    return safe, finalized


def commits(chain: Chain, work: Callable[[], object]) -> int:
    before = chain.version
    work()
    return chain.version - before


@pytest.mark.parametrize("blocks", [1, 4, 7])
def test_a_branch_is_one_commit_with_the_marks_of_its_head(blocks: int) -> None:
    with new_chain() as chain:
        builder = BlockBuilder(chain, epoch=EPOCH)
        extend(builder, 6)
        before = heads(chain)
        seen: list[Head] = []
        removed: list[Head] = []
        added: list[Head] = []

        def replace() -> None:
            with builder.replacing(2) as dropped:
                for _ in range(blocks):
                    added.extend(extend(builder, 1, b"other"))
                    seen.append(chain.head)
            removed.extend(dropped)

        assert commits(chain, replace) == 1
        assert seen == [before[-1]] * blocks
        assert removed == before[:2:-1]
        assert heads(chain) == before[:3] + added
        whole = heads(chain)
        assert marks(chain) == (whole[-1 - EPOCH], whole[max(0, len(whole) - 1 - 2 * EPOCH)])
        extend(builder, 1)
        assert chain.head.number == 3 + blocks


def test_a_branch_beyond_the_bound_is_committed_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "REPLACING_BLOCKS", 3)
    with new_chain() as chain:
        builder = BlockBuilder(chain, epoch=EPOCH)
        extend(builder, 9)
        before = heads(chain)
        removed: list[Head] = []
        lowest: list[int] = []

        def replace(blocks: int) -> Callable[[], None]:
            def work() -> None:
                with builder.replacing(1) as dropped:
                    for _ in range(blocks):
                        extend(builder, 1, b"other")
                        lowest.append(chain.head.number)
                removed[:] = dropped

            return work

        assert commits(chain, replace(3)) == 1
        assert removed == before[:1:-1]
        assert min(lowest) == 4, "the ancestor is never the head"
        extend(builder, 5)
        assert commits(chain, replace(4)) == 2
        monkeypatch.setattr(subject, "REPLACING_BYTES", 1)
        assert commits(chain, replace(4)) == 4


def test_a_branch_that_fails_changes_nothing() -> None:
    with new_chain() as chain:
        builder = BlockBuilder(chain, epoch=EPOCH)
        extend(builder, 4)
        before, marked = heads(chain), marks(chain)

        def fail() -> None:
            with builder.replacing(1):
                extend(builder, 2, b"other")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert (heads(chain), marks(chain)) == (before, marked)
        extend(builder, 1)
        assert heads(chain)[:-1] == before


def test_a_reorganisation_on_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    with playground(tmp_path) as chain:
        chain("anvil_mine", 6)
        sent = chain.send()
        before = [chain.block(number)["hash"] for number in range(8)]
        with (
            files_of_at_most(4096),
            pytest.raises(RefusedError, match="the chain cannot be written") as refused,
        ):
            chain("wsnode_reorg", {"depth": 3})
        assert refused.value.code == -32603
        assert [chain.block(number)["hash"] for number in range(8)] == before
        assert chain.receipt(sent) is not None
        done = chain("wsnode_reorg", {"depth": 3})
        assert [each["hash"] for each in done["dropped"]] == before[:4:-1]


def test_blocks_replace_others_on_a_state_that_was_patched(tmp_path: Path) -> None:
    with playground(tmp_path) as chain:
        chain("anvil_mine", 2)
        chain("anvil_setBalance", STRANGER, "0x5")
        for _ in range(2):
            chain.send(to=STRANGER)
        placed = [[{"from": CREATOR, "to": STRANGER, "value": "0x10"}, place] for place in (0, 0, 1)]
        chain("anvil_reorg", 2, placed)
        balances = [chain.balance(STRANGER, hex(number)) for number in (1, 2, 3, 4)]
        assert balances == [0, 5, 0x25, 0x35]
        assert chain.nonce(CREATOR) == 3


@pytest.mark.slow
def test_other_processes_see_the_blocks_before_a_reorganisation_or_after_it(tmp_path: Path) -> None:
    with playground(tmp_path) as chain:
        chain("anvil_mine", 8)
        known = {chain.block()["hash"]}
        with watched_heads(tmp_path / "eth") as seen:
            for number in range(100):
                chain("wsnode_reorg", {"depth": 1 + number % 6})
                known.add(chain.block()["hash"])
        assert {f"0x{each.hex()}" for each in seen} <= known
