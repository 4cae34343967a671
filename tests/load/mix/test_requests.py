"""Requests are made from what the chain holds, and are answered."""

import json
from collections import Counter
from typing import Any

import pytest

from tests.memory_transport import Client, memory_transport
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.load.mix.requests import PARAMETERS, REAL_MIX, MixError, make_requests, read_mix
from wsnode.load.mix.samples import ChainSamples, spread, take_samples


class Direct:
    """A chain that is asked without a socket."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._send = memory_transport(dispatcher, Client())

    def reply(self, method: str, *params: object) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return json.loads(self._send(json.dumps(request)) or "")

    def ask(self, method: str, *params: object) -> Any:
        return self.reply(method, *params)["result"]

    def try_ask(self, method: str, *params: object) -> Any:
        return self.reply(method, *params).get("result")


@pytest.fixture(scope="module")
def samples(dispatcher: Dispatcher) -> ChainSamples:
    return take_samples(Direct(dispatcher))


def test_samples_are_of_the_whole_chain(samples: ChainSamples) -> None:
    assert samples.head == 54
    assert (samples.numbers[-1], len(samples.numbers)) == (54, 48)
    assert samples.transactions
    assert samples.contracts
    assert all(len(address) == 42 for address in samples.addresses)


def test_a_chain_without_blocks_has_its_genesis() -> None:
    assert spread(0) == [0]
    assert spread(3) == [1, 2, 3]


def test_every_request_is_answered_with_a_result(samples: ChainSamples, dispatcher: Dispatcher) -> None:
    chain = Direct(dispatcher)
    for request in make_requests(dict.fromkeys(PARAMETERS, 1.0), samples, 200, seed=1):
        assert "result" in chain.reply(request.method, *request.params), request


def test_the_shares_are_those_of_the_mix(samples: ChainSamples) -> None:
    made = make_requests(read_mix(REAL_MIX), samples, 10_000, seed=1)
    shares = Counter(request.method for request in made)
    assert 0.51 < shares["eth_call"] / 10_000 < 0.55
    assert 0.02 < shares["eth_getCode"] / 10_000 < 0.04


def test_a_seed_makes_the_same_requests(samples: ChainSamples) -> None:
    mix = read_mix("eth_getBalance=2,eth_getLogs")
    assert mix == {"eth_getBalance": 2.0, "eth_getLogs": 1.0}
    assert make_requests(mix, samples, 50, 3) == make_requests(mix, samples, 50, 3)
    assert make_requests(mix, samples, 50, 3) != make_requests(mix, samples, 50, 4)


@pytest.mark.parametrize(
    "text", ["", "eth_never=1", "eth_call=x", "eth_call=0", "eth_call=-1", "eth_call=nan"]
)
def test_what_is_no_mix_is_refused(text: str) -> None:
    with pytest.raises(MixError):
        read_mix(text)
