"""Estimates without runs are those that runs find: code that reads its gas is run again and again.

`PC POP` costs what `GAS POP` costs, and is as long. Code with the first may be estimated by one run, code
with the second is not; nothing else differs.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.memory_transport import Ask, asking
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher

TARGET = "0x" + "13" * 20
SENDER = "0x" + "11" * 20
BLIND, SEEING = "5850", "5a50"
BLOCKS = ("homestead", "eip150", "eip155", "eip158", "byzantium", "constantinople")
AFTER = ("petersburg", "istanbul", "berlin", "london")
TIMES = ("shanghai", "cancun", "prague", "osaka")
BLOBS = {"target": 6, "max": 9, "baseFeeUpdateFraction": 5007716}
FORKS = ("constantinople", *AFTER, *TIMES)


def genesis(fork: str) -> bytes:
    """Return a genesis whose first block is of a fork."""
    blocks = (*BLOCKS, *AFTER[: AFTER.index(fork) + 1 if fork in AFTER else len(AFTER)])
    config: dict[str, Any] = {f"{name}Block": 0 for name in (BLOCKS if fork == BLOCKS[-1] else blocks)}
    if fork in TIMES:
        times = TIMES[: TIMES.index(fork) + 1]
        config |= {f"{name}Time": 0 for name in times}
        config |= {"terminalTotalDifficulty": 0, "blobSchedule": dict.fromkeys(times[1:], BLOBS)}
    elif fork == BLOCKS[-1]:
        config["petersburgBlock"] = 1000
    alloc = {SENDER: {"balance": hex(10**20)}}
    members = {"config": {**config, "chainId": 1}, "difficulty": "0x0" if fork in TIMES else "0x20000"}
    return json.dumps({**members, "gasLimit": hex(30_000_000), "alloc": alloc}).encode()


@pytest.fixture(scope="module")
def asks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Ask]]:
    """Yield, by fork, a function that asks a chain of one block."""
    with ExitStack() as stack:
        asks = {}
        for fork in FORKS:
            folder = tmp_path_factory.mktemp(fork)
            chain = stack.enter_context(Chain.open(folder, genesis(fork), writer=True, durable=False))
            asks[fork] = asking(Dispatcher(build_registry(chain), chain.snapshot))
        yield asks


def pieces() -> st.SearchStrategy[str]:
    """Return code that leaves the stack as it was; much of it costs more than it gets back in the end."""
    byte = st.integers(0, 255).map("{:02x}".format)
    slot = st.integers(0, 2).map("{:02x}".format)
    value = st.integers(0, 2).map("{:02x}".format)
    size = st.integers(0, 0xFFF).map("{:04x}".format)
    return st.one_of(
        st.builds("60{}60{}55".format, value, slot),
        st.builds("60{}5450".format, slot),
        st.builds("61{}60{}a0".format, size, byte),
        st.builds("61{}60{}2050".format, size, byte),
        st.builds("60{}61{}52".format, byte, size),
        st.just("4750"),
        st.just("333150"),
        # Calls of the precompiled contract that copies, with so much gas, and of an account without code.
        st.builds("6020600060{}60006000600461{}f150".format, byte, size),
        st.just("60006000600060006000736666666666666666666666666666666666666666615208f150"),
    )


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None)
@given(
    st.sampled_from(FORKS),
    st.lists(pieces(), max_size=6),
    st.lists(st.integers(1, 2), max_size=3),
    st.integers(0, 200),
    st.sampled_from([None, "0x0", "0x77359400"]),
)
def test_an_estimate_is_what_runs_find(
    asks: Mapping[str, Ask], fork: str, body: list[str], slots: list[int], length: int, price: str | None
) -> None:
    state = {f"0x{place:064x}": f"0x{value:064x}" for place, value in enumerate(slots)}
    message = {"from": SENDER, "to": TARGET, "data": "0x" + "ff" * length}
    if price is not None:
        message["gasPrice"] = price
    told = [
        asks[fork](
            "eth_estimateGas",
            message,
            "latest",
            {TARGET: {"code": f"0x{first}{''.join(body)}", "state": state}},
        )
        for first in (BLIND, SEEING)
    ]
    assert told[0] == told[1]


@settings(max_examples=examples(60), deadline=None)
@given(st.sampled_from(FORKS), st.lists(pieces(), max_size=3), st.integers(0, 0x5FFF))
def test_so_is_one_of_a_contracts_creation(
    asks: Mapping[str, Ask], fork: str, body: list[str], size: int
) -> None:
    told = [
        asks[fork](
            "eth_estimateGas",
            {"from": SENDER, "data": f"0x{first}{''.join(body)}61{size:04x}6000f3"},
            "latest",
        )
        for first in (BLIND, SEEING)
    ]
    assert told[0] == told[1]
