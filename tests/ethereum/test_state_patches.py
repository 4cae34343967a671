"""Changes of the state that no block made."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.file_limits import files_of_at_most
from tests.sync.forks import genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.state import InvalidTransactionError, StateError
from wsnode.ethereum.storage import state_patches
from wsnode.store.environment import StoreError

ACCOUNT = bytes([0x42]) * 20
NAME = "0x" + ACCOUNT.hex()
SLOT = bytes(31) + b"\1"
NOBODY = bytes(20)


def open_chain(folder: Path) -> Chain:
    return Chain.open(folder, genesis(merged=True), writer=True, durable=False)


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Chain]:
    with open_chain(tmp_path) as chain:
        yield chain


def patch(chain: Chain, **members: object) -> None:
    chain.patch(json.dumps({NAME: members}).encode())


def balance(chain: Chain) -> int | None:
    account = chain.state.account(ACCOUNT, chain.state.committed_head)
    return None if account is None else account[1]


def extend(chain: Chain, count: int = 1) -> None:
    builder = BlockBuilder(chain)
    for _ in range(count):
        builder.append([], timestamp=builder.tip.timestamp + 12, fee_recipient=NOBODY)


def test_every_member_of_an_account_is_changed_and_the_rest_stays(chain: Chain) -> None:
    patch(chain, balance="0x5", nonce="0x7", code="0x6001", stateDiff={"0x" + SLOT.hex(): "0x" + SLOT.hex()})
    patch(chain, balance="0x6")
    block = chain.state.committed_head
    account = chain.state.account(ACCOUNT, block)
    assert account is not None
    assert account[:2] == (7, 6)
    assert chain.state.code(ACCOUNT, block) == bytes.fromhex("6001")
    assert chain.state.storage(ACCOUNT, SLOT, block) == SLOT
    patch(chain, state={})
    assert chain.state.storage(ACCOUNT, SLOT, block) == bytes(32)


def test_blocks_are_built_and_verified_on_a_patched_state(chain: Chain) -> None:
    patch(chain, balance="0x5")
    extend(chain, 2)
    patch(chain, balance="0x6")
    extend(chain)
    assert balance(chain) == 6
    chain.unwind(2)
    assert balance(chain) == 6
    chain.unwind(1)
    assert balance(chain) == 5
    extend(chain)


def test_a_block_goes_back_to_the_state_that_it_had(chain: Chain) -> None:
    extend(chain)
    patch(chain, balance="0x5")
    marked = Hash32(chain.state.state_root)
    patch(chain, balance="0x6")
    patch(chain, nonce="0x1")
    extend(chain, 2)
    assert [head.number for head in chain.unwind(1, marked)] == [3, 2]
    assert chain.state.state_root == marked
    assert balance(chain) == 5
    chain.unwind(1, marked)
    extend(chain)


def test_patches_survive_a_restart(tmp_path: Path) -> None:
    with open_chain(tmp_path) as chain:
        extend(chain)
        before = Hash32(chain.state.state_root)
        patch(chain, balance="0x5")
    with open_chain(tmp_path) as chain:
        assert balance(chain) == 5
        extend(chain)
        chain.unwind(1, before)
        assert balance(chain) is None


def test_a_root_that_the_block_never_had_is_refused(chain: Chain) -> None:
    with pytest.raises(StateError, match="never had the root"):
        chain.state.rewind(0, state_root=bytes(32))


@pytest.mark.parametrize(
    "members",
    [{"balance": "five"}, {"state": {}, "stateDiff": {}}, {"movePrecompileToAddress": NAME}],
    ids=["type", "both storages", "moved"],
)
def test_a_patch_that_cannot_be_made_is_refused(chain: Chain, members: dict[str, object]) -> None:
    root = chain.state.state_root
    with pytest.raises(InvalidTransactionError) as refused:
        patch(chain, **members)
    assert refused.value.kind == "overrides"
    assert chain.state.state_root == root


def kept(chain: Chain, number: int) -> list[str]:
    """Return the balances that the kept patches of a block give."""
    with chain.store.read() as reader:
        texts = [json.loads(patch.accounts) for patch in state_patches.patches(reader, number)]
    return [text[NAME]["balance"] for text in texts]


def test_patches_are_kept_with_their_block_in_order(chain: Chain) -> None:
    patch(chain, balance="0x1")
    extend(chain)
    patch(chain, balance="0x2")
    patch(chain, balance="0x3")
    assert [kept(chain, number) for number in (0, 1, 2)] == [["0x1"], ["0x2", "0x3"], []]
    with chain.store.read() as reader:
        assert state_patches.patches(reader, 1)[-1].state_root == chain.state.state_root


def test_kept_patches_are_forgotten_with_what_is_unwound(chain: Chain) -> None:
    extend(chain)
    patch(chain, balance="0x1")
    marked = Hash32(chain.state.state_root)
    patch(chain, balance="0x2")
    patch(chain, balance="0x1")
    patch(chain, balance="0x3")
    extend(chain)
    patch(chain, balance="0x4")
    chain.unwind(1)
    assert [kept(chain, 1), kept(chain, 2)] == [["0x1", "0x2", "0x1", "0x3"], []]
    # A root that there was twice is that of the later patch, as it is to the state.
    chain.unwind(1, marked)
    assert kept(chain, 1) == ["0x1", "0x2", "0x1"]
    chain.unwind(0)
    assert kept(chain, 1) == []


def test_a_root_that_the_block_never_had_forgets_no_patch(chain: Chain) -> None:
    patch(chain, balance="0x1")
    with pytest.raises(StateError, match="never had the root"):
        chain.unwind(0, Hash32(bytes(32)))
    assert kept(chain, 0) == ["0x1"]
    assert balance(chain) == 1


def test_a_patch_that_was_not_committed_never_was(tmp_path: Path) -> None:
    with open_chain(tmp_path) as chain:
        patch(chain, balance="0x1")
        _, root = chain.state.stage_patch(json.dumps({NAME: {"balance": "0x2"}}).encode())
        assert root != chain.state.state_root
        assert balance(chain) == 1
        size = (tmp_path / "chain/data.mdb").stat().st_size
        with files_of_at_most(min(size, 8192)), pytest.raises((StateError, StoreError)):
            patch(chain, balance="0x2")
        assert (balance(chain), kept(chain, 0)) == (1, ["0x1"])
        patch(chain, balance="0x3")
    with open_chain(tmp_path) as chain:
        assert balance(chain) == 3
        assert kept(chain, 0) == ["0x1", "0x3"]
        extend(chain)
        chain.unwind(0)
        assert balance(chain) == 3
