"""A disk without room stops a development chain only for as long as there is none.

Files that may not grow stand for the disk: what LMDB writes beyond their size fails amid a commit.
"""

from pathlib import Path

import pytest

from tests.ethereum.development.playground import (
    CREATOR,
    ETHER,
    STRANGER,
    Playground,
    RefusedError,
    playground,
)
from tests.file_limits import files_of_at_most

pytestmark = pytest.mark.slow

ATTEMPTS = 3000


def size(folder: Path) -> int:
    return (folder / "eth/chain/data.mdb").stat().st_size


def send_data(node: Playground, number: int) -> None:
    """Make a block with eight kilobytes in it."""
    node.send(to=STRANGER, data="0x" + f"{number:04x}" * 4000, gas="0x100000")


def fill(node: Playground) -> None:
    for number in range(ATTEMPTS):
        send_data(node, number)


def mine_until_full(node: Playground) -> int:
    """Make blocks until one cannot be stored, and return the head's number."""
    with pytest.raises(RefusedError, match="the chain cannot be written at the moment") as refused:
        fill(node)
    assert refused.value.code == -32603
    return node.head


@pytest.mark.parametrize("is_full", [False, True], ids=["no larger file", "no page"])
def test_blocks_go_on_when_there_is_room_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, is_full: bool
) -> None:
    with playground(tmp_path) as node:
        for number in range(50):
            send_data(node, number)
        node("anvil_setBalance", STRANGER, hex(7 * ETHER))
        node.send()
        # Free pages of the file are used up first, if it may not grow.
        with files_of_at_most(4096 if is_full else size(tmp_path)):
            full = mine_until_full(node)
            for _ in range(3):
                with pytest.raises(RefusedError, match="the chain cannot be written"):
                    send_data(node, ATTEMPTS)
                assert node.head == full
            assert node.balance(STRANGER) >= 7 * ETHER
        assert "/eth/chain: " in caplog.text
        node("evm_mine")
        assert node.head == full + 1
        sent = node.send(value="0x5")
        assert (node.receipt(sent) or {})["blockNumber"] == hex(full + 2)
        head, balance = node.block(), node.balance(CREATOR)
    with playground(tmp_path) as node:
        assert (node.block(), node.balance(CREATOR)) == (head, balance)


def test_what_was_decided_for_a_block_and_snapshots_outlast_a_full_disk(tmp_path: Path) -> None:
    with playground(tmp_path) as node:
        node("anvil_mine", "0x3")
        snapshot = node("evm_snapshot")
        node("anvil_mine", "0x2")
        later = node.time() + 1000
        node("evm_setNextBlockTimestamp", later)
        with files_of_at_most(4096):
            for method, params in (("evm_mine", []), ("evm_revert", [snapshot]), ("anvil_rollback", [1])):
                with pytest.raises(RefusedError, match="the chain cannot be written"):
                    node(method, *params)
            assert node.head == 5
        node("evm_mine")
        assert (node.head, node.time()) == (6, later)
        assert node("evm_revert", snapshot) is True
        assert node.head == 3
        node("evm_mine")


def test_a_transaction_that_was_refused_is_not_in_a_later_block(tmp_path: Path) -> None:
    with playground(tmp_path) as node:
        node("anvil_impersonateAccount", STRANGER)
        node("anvil_setBalance", STRANGER, hex(ETHER))
        with files_of_at_most(4096):
            for sender in (CREATOR, STRANGER):
                with pytest.raises(RefusedError, match="the chain cannot be written"):
                    node.send(sender)
                assert node.pool == (0, 0)
        node("evm_mine")
        assert (node.nonce(CREATOR), node.nonce(STRANGER)) == (0, 0)
        assert node.receipt(node.send()) is not None


def test_an_account_is_changed_whole_or_not_at_all(tmp_path: Path) -> None:
    with playground(tmp_path) as node:
        node("anvil_mine", "0x2")
        before = node.balance(STRANGER)
        with files_of_at_most(4096), pytest.raises(RefusedError, match="the chain cannot be written"):
            node("anvil_setBalance", STRANGER, hex(ETHER))
        assert node.balance(STRANGER) == before
        node("anvil_setBalance", STRANGER, hex(ETHER))
        node("evm_mine")
        assert node.balance(STRANGER) == ETHER
