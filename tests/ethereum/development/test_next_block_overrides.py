"""Whatever is decided about the next block, it is what `pending` said it would be."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.ethereum.development.playground import CREATOR, RECIPIENT, Playground, playground

GWEI = 10**9
TOLERANCE = 2
"""Seconds that may pass between two questions."""

FEES = st.integers(1, 40 * GWEI)
SECONDS = st.integers(1, 10**6)
Action = tuple[str, Any]
ACTIONS: dict[str, st.SearchStrategy[Any]] = {
    "send": FEES,
    "anvil_setNextBlockBaseFeePerGas": FEES,
    "evm_setBlockGasLimit": st.integers(21_000, 10**8),
    "hardhat_setPrevRandao": st.just("0x" + "ab" * 32),
    "evm_setNextBlockTimestamp": SECONDS,
    "evm_increaseTime": SECONDS,
    "anvil_setBlockTimestampInterval": SECONDS,
    "anvil_removeBlockTimestampInterval": st.none(),
    "anvil_dropAllTransactions": st.none(),
}


def actions() -> st.SearchStrategy[Action]:
    """Return something that is done before a block is made, and its argument."""
    return st.one_of(*(st.tuples(st.just(name), argument) for name, argument in ACTIONS.items()))


def carry_out(chain: Playground, name: str, argument: Any) -> None:
    if name == "send":
        chain.send(maxFeePerGas=hex(argument), maxPriorityFeePerGas="0x1", gas="0x5208")
    elif name == "evm_setNextBlockTimestamp":
        chain(name, chain.time() + argument)
    else:
        chain(name, *([] if argument is None else [argument]))


def looks(chain: Playground, block: str) -> dict[str, Any]:
    found = chain.block(block)
    names = ("number", "baseFeePerGas", "gasLimit", "mixHash", "transactions", "gasUsed")
    return {name: found[name] for name in names}


@pytest.mark.slow
@settings(max_examples=examples(25))
@given(blocks=st.lists(st.lists(actions(), max_size=5), min_size=1, max_size=4))
def test_the_next_block_is_as_pending_says(blocks: list[list[Action]]) -> None:
    with TemporaryDirectory() as folder, playground(Path(folder)) as chain:
        chain("evm_setAutomine", False)
        for decided in blocks:
            for name, argument in decided:
                carry_out(chain, name, argument)
            promised, at = looks(chain, "pending"), chain.time("pending")
            balances = [chain.balance(account, "pending") for account in (CREATOR, RECIPIENT)]
            chain("evm_mine")
            assert looks(chain, "latest") == promised
            assert abs(chain.time() - at) <= TOLERANCE
            assert [chain.balance(account) for account in (CREATOR, RECIPIENT)] == balances
