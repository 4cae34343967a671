"""A chain goes back to a snapshot, whatever was done to it since."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.ethereum.development.playground import (
    CREATOR,
    RECIPIENT,
    STRANGER,
    Playground,
    RefusedError,
    playground,
)

PEOPLE = (CREATOR, RECIPIENT, STRANGER)
SLOTS = ("0x0", "0x1")
Step = tuple[str, list[Any]]


def standing(chain: Playground) -> dict[str, Any]:
    """Return all that a snapshot promises to bring back."""
    pending = chain("txpool_content")
    return {
        "head": chain.block(),
        "accounts": [(chain.balance(each), chain.nonce(each)) for each in PEOPLE],
        "code": chain("eth_getCode", STRANGER, "latest"),
        "slots": [chain("eth_getStorageAt", STRANGER, slot, "latest") for slot in SLOTS],
        "pool": pending,
        "ahead": chain("evm_increaseTime", 0),
    }


def transfers() -> st.SearchStrategy[Step]:
    return st.builds(
        lambda sender, gap: (
            "eth_sendTransaction",
            [{"from": sender, "to": STRANGER, "value": "0x1", "gas": "0x5208"} | gap],
        ),
        st.sampled_from(PEOPLE[:2]),
        st.sampled_from([{}, {}, {"nonce": "0x30"}]),
    )


def steps() -> st.SearchStrategy[Step]:
    number, word = st.integers(0, 2**63), st.binary(min_size=32, max_size=32)
    changes: tuple[st.SearchStrategy[Step], ...] = (
        st.tuples(st.just("anvil_setBalance"), st.tuples(st.sampled_from(PEOPLE), number).map(list)),
        st.tuples(
            st.just("anvil_setNonce"), st.tuples(st.sampled_from(PEOPLE), st.integers(0, 60)).map(list)
        ),
        st.tuples(
            st.just("anvil_setCode"), st.binary(max_size=40).map(lambda code: [STRANGER, f"0x{code.hex()}"])
        ),
        st.tuples(
            st.just("anvil_setStorageAt"),
            st.tuples(st.sampled_from(SLOTS), word).map(lambda it: [STRANGER, it[0], f"0x{it[1].hex()}"]),
        ),
    )
    controls: tuple[st.SearchStrategy[Step], ...] = (
        st.just(("evm_mine", [])),
        st.tuples(st.just("anvil_mine"), st.tuples(st.integers(1, 3), st.integers(0, 9)).map(list)),
        st.tuples(st.just("evm_increaseTime"), st.integers(0, 10**6).map(lambda seconds: [seconds])),
        st.tuples(st.just("evm_setAutomine"), st.booleans().map(lambda enabled: [enabled])),
        st.just(("anvil_dropAllTransactions", [])),
        st.tuples(st.just("evm_setNextBlockTimestamp"), st.integers(2**31, 2**32).map(lambda time: [time])),
    )
    return st.one_of(transfers(), transfers(), *changes, *controls)


def do(chain: Playground, step: Step) -> None:
    try:
        chain(step[0], *step[1])
    except RefusedError as refused:
        # A transfer that cannot be paid, a time gone by: that is no concern of a snapshot's.
        if refused.code not in (-32000, -32602):
            raise


@pytest.mark.slow
@settings(max_examples=examples(25))
@given(
    before=st.lists(steps(), max_size=6),
    between=st.lists(steps(), max_size=6),
    after=st.lists(steps(), max_size=6),
)
def test_everything_is_as_it_was(before: list[Step], between: list[Step], after: list[Step]) -> None:
    with TemporaryDirectory() as folder, playground(Path(folder)) as chain:
        for step in before:
            do(chain, step)
        outer, was = chain("evm_snapshot"), standing(chain)
        for step in between:
            do(chain, step)
        inner, later = chain("evm_snapshot"), standing(chain)
        for step in after:
            do(chain, step)
        assert chain("evm_revert", inner) is True
        assert standing(chain) == later
        for step in after:
            do(chain, step)
        assert chain("evm_revert", outer) is True
        assert standing(chain) == was
        assert chain("evm_revert", inner) is False
        # The chain goes on from there.
        number = chain.head
        chain("evm_mine")
        assert chain.head == number + 1


def test_the_snapshots_are_told_with_what_chain_this_is(chain: Playground) -> None:
    chain("evm_mine")
    taken, head = chain("evm_snapshot"), chain.block()["hash"]
    metadata = chain("anvil_metadata")
    assert metadata["snapshots"] == {taken: [1, head]}
    assert (metadata["chainId"], metadata["latestBlockNumber"], metadata["latestBlockHash"]) == (
        31337,
        1,
        head,
    )
    assert len(metadata["instanceId"]) == 66
    assert chain("hardhat_metadata")["clientVersion"].startswith("anvil/v1.7.1/wsnode/v")


def test_a_snapshot_is_used_up_with_the_later_ones(chain: Playground) -> None:
    first, second, third = (chain("evm_snapshot") for _ in range(3))
    assert chain("evm_revert", second) is True
    assert [chain("anvil_revert", each) for each in (second, third)] == [False, False]
    assert chain("anvil_revert", first) is True
    assert chain("evm_revert", "0x63") is False
    assert chain("evm_snapshot") not in (first, second, third)


@pytest.mark.parametrize("form", [int, str, hex])
def test_a_snapshots_number_comes_in_every_form(form: Callable[[int], object], chain: Playground) -> None:
    assert chain("evm_revert", form(int(chain("evm_snapshot"), 16))) is True


def test_dropped_blocks_are_told_and_their_transactions_gone(chain: Playground) -> None:
    taken = chain("evm_snapshot")
    sent = chain.send()
    chain("evm_revert", taken)
    assert (chain.head, chain.receipt(sent), chain.pool) == (0, None, (0, 0))
    again = chain.send()
    assert chain.receipt(again) is not None
