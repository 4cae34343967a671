"""Calls that the engine runs one after another have the results that each has alone.

One call must leave nothing to the next: no value, no warm slot or account, no code. Their gas shows it.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.ethereum.rpc.calls.test_methods_estimates import FORKS, SENDER, genesis, pieces
from tests.ethereum.rpc.common.test_parameters_text_native_methods import Calls, assert_same_answers
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher

CREATOR = "0x" + "c0" * 20
"""Makes a contract of its input, and returns its code."""
KEEPER = "0x" + "ee" * 20
"""Stores a word of its input in the slot that another names; returns what was there, and the gas left."""
LEAVER = "0x" + "dd" * 20
"""Destroys itself."""
CODES = {
    CREATOR: "3660006000373660006000f0803b8060006000843c6000f3",
    KEEPER: "60003554600052602035600035555a60205260406000f3",
    LEAVER: "33ff",
}


@pytest.fixture(scope="module")
def chains(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Dispatcher]]:
    """Yield, by fork, a chain of one block with these contracts."""
    with ExitStack() as stack:
        chains = {}
        for fork in FORKS:
            start = json.loads(genesis(fork))
            start["alloc"] |= {name: {"code": f"0x{code}", "balance": "0x5"} for name, code in CODES.items()}
            folder = tmp_path_factory.mktemp(fork)
            text = json.dumps(start).encode()
            chain = stack.enter_context(Chain.open(folder, text, writer=True, durable=False))
            chains[fork] = Dispatcher(build_registry(chain), chain.snapshot)
        yield chains


def creations() -> st.SearchStrategy[str]:
    """Return code that does something, and in the end returns the gas that it has left."""
    keeping = st.builds(
        "60{:02x}60005260{:02x}6020526020600060406000600073{}5af150".format,
        st.integers(0, 2),
        st.integers(0, 2),
        st.just(KEEPER[2:]),
    )
    leaving = st.just(f"6000600060006000600073{LEAVER[2:]}5af150")
    looking = st.sampled_from([KEEPER, LEAVER, CREATOR, SENDER]).map(lambda name: f"73{name[2:]}3150")
    transient = st.builds("60{:02x}5c5060{:02x}60005d".format, st.integers(0, 1), st.integers(0, 2))
    body = st.lists(st.one_of(pieces(), keeping, leaving, looking, transient), max_size=5).map("".join)
    return body.map(lambda code: f"0x{code}5a60005260206000f3")


def words(*numbers: int) -> str:
    """Return the input of a contract that takes words."""
    return "0x" + "".join(f"{number:064x}" for number in numbers)


def calls() -> st.SearchStrategy[tuple[str, list[Any]]]:
    """Return calls, most of which the engine runs, and some of which it leaves to others."""
    creating = st.builds(lambda code: {"to": CREATOR, "data": code}, creations())
    keeping = st.builds(
        lambda slot, value: {"to": KEEPER, "input": words(slot, value)}, st.integers(0, 2), st.integers(0, 2)
    )
    others = st.sampled_from(
        [
            {"to": LEAVER},
            {"to": SENDER, "data": "0x00"},
            {"to": "0x0000000000000000000000000000000000000002", "data": "0x61"},
            {"to": "0x0000000000000000000000000000000000000001", "data": words(1, 27, 1, 1)},
            {"to": CREATOR, "data": "0xfe"},
            {"data": "0x5b600056"},
            {"to": KEEPER, "value": "0x1"},
        ]
    )
    extras = st.fixed_dictionaries(
        {},
        optional={
            "from": st.sampled_from([SENDER, KEEPER, "0x" + "99" * 20]),
            "gas": st.sampled_from(["0x0", "0x5208", "0x7530", "0x186a0", "0xffffffffffffffff"]),
            "gasPrice": st.sampled_from(["0x0", "0x1", "0x77359400"]),
            "value": st.sampled_from(["0x0", "0x1"]),
        },
    )
    messages = st.builds(lambda call, more: {**call, **more}, st.one_of(creating, keeping, others), extras)
    blocks = st.sampled_from([[], ["latest"], ["0x0"], ["pending"], ["0x1"], ["latest", {}]])
    run = st.builds(lambda message, block: ("eth_call", [message, *block]), messages, blocks)
    return st.one_of(run, run, run, st.just(("eth_getStorageAt", [KEEPER, "0x0", "latest"])))


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(FORKS), st.lists(calls(), max_size=6))
def test_calls_of_a_burst_are_as_calls_alone(
    chains: Mapping[str, Dispatcher], fork: str, burst: Calls
) -> None:
    assert_same_answers(chains[fork], burst)


@pytest.mark.parametrize("fork", FORKS)
def test_usual_calls_of_a_burst_are_all_run_by_the_engine(
    chains: Mapping[str, Dispatcher], fork: str
) -> None:
    keeping: Calls = [
        ("eth_call", [{"to": KEEPER, "data": words(1, value)}, "latest"]) for value in (1, 2, 0)
    ]
    making: tuple[str, list[Any]] = ("eth_call", [{"to": CREATOR, "data": "0x5a60005260206000f3"}])
    burst = [*keeping, making, ("eth_getBalance", [KEEPER]), making, *keeping]
    assert assert_same_answers(chains[fork], burst) == len(burst)


@pytest.mark.parametrize(
    "unusual",
    [
        [{"to": KEEPER, "value": "0x1"}],
        [{"to": KEEPER, "gasPrice": "0x1"}],
        [{"to": KEEPER, "gas": "0x5208"}],
        [{"data": "0x00"}],
        [{"to": CREATOR, "data": "0x5b600056"}],
        [{"to": KEEPER}, "latest", {KEEPER: {"balance": "0x1"}}],
        [{"to": KEEPER}, "pending"],
    ],
)
def test_a_call_that_is_not_plain_and_short_is_left_to_its_method(
    chains: Mapping[str, Dispatcher], unusual: list[Any]
) -> None:
    plain = ("eth_call", [{"to": KEEPER, "data": words(1, 1)}])
    assert assert_same_answers(chains["prague"], [plain, ("eth_call", unusual), plain]) == 1
