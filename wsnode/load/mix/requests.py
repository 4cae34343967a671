"""Mix of methods: their shares, and random parameters."""

import random
from collections.abc import Callable

import msgspec

from wsnode.load.mix.samples import ChainSamples

REAL_MIX = (
    "eth_call=53,eth_getBlockByNumber=10,eth_getBalance=7,eth_chainId=6,eth_getTransactionReceipt=6,"
    "eth_blockNumber=4,eth_getLogs=4,eth_getTransactionByHash=4,eth_getTransactionCount=3,eth_getCode=3"
)
"""Shares of methods in applications' calls, in percent."""
LOG_BLOCKS = 10
FULL_BLOCKS = 0.25
NEWEST_BLOCKS = 0.5


class MixError(ValueError):
    """Error of a mix (methods with their shares of all requests) with an unknown method, or an invalid share;
    the message names it.
    """


class Request(msgspec.Struct, frozen=True):
    """JSON-RPC request that a load test sends: a method and its parameters."""

    method: str
    params: list[object]


Parameters = Callable[[ChainSamples, random.Random], list[object]]


def _block(samples: ChainSamples, chance: random.Random) -> list[object]:
    newest = chance.random() < NEWEST_BLOCKS
    number = "latest" if newest else hex(chance.choice(samples.numbers))
    return [number, chance.random() < FULL_BLOCKS]


def _logs(samples: ChainSamples, chance: random.Random) -> list[object]:
    first = chance.choice(samples.numbers)
    found: dict[str, object] = {
        "fromBlock": hex(first),
        "toBlock": hex(min(first + LOG_BLOCKS - 1, samples.head)),
    }
    if samples.contracts:
        found["address"] = chance.choice(samples.contracts)
    return [found]


def _transaction(samples: ChainSamples, chance: random.Random) -> list[object]:
    return [chance.choice(samples.transactions or ["0x" + 64 * "0"])]


def _account(samples: ChainSamples, chance: random.Random) -> list[object]:
    return [chance.choice(samples.addresses), "latest"]


def _contract(samples: ChainSamples, chance: random.Random) -> list[object]:
    return [chance.choice(samples.contracts or samples.addresses), "latest"]


def _call(samples: ChainSamples, chance: random.Random) -> list[object]:
    return [chance.choice(samples.calls), "latest"]


def _nothing(samples: ChainSamples, chance: random.Random) -> list[object]:
    return []


PARAMETERS: dict[str, Parameters] = {
    "eth_call": _call,
    "eth_estimateGas": lambda samples, chance: [chance.choice(samples.calls)],
    "eth_getBlockByNumber": _block,
    "eth_getBalance": _account,
    "eth_getTransactionCount": _account,
    "eth_getCode": _contract,
    "eth_getStorageAt": lambda samples, chance: [
        chance.choice(samples.contracts or samples.addresses),
        hex(chance.randrange(8)),
        "latest",
    ],
    "eth_getLogs": _logs,
    "eth_getTransactionByHash": _transaction,
    "eth_getTransactionReceipt": _transaction,
    "eth_getBlockReceipts": lambda samples, chance: [hex(chance.choice(samples.numbers))],
    "eth_chainId": _nothing,
    "eth_blockNumber": _nothing,
    "eth_gasPrice": _nothing,
    "net_version": _nothing,
    "web3_clientVersion": _nothing,
}


def read_mix(text: str) -> dict[str, float]:
    """Return the weight of each method in `method=weight,…`; without a weight it is 1.

    Raises:
        MixError: A method is unknown here, or a weight is no positive number.
    """
    mix = {}
    for part in text.split(","):
        method, equals, weight = (piece.strip() for piece in part.partition("="))
        if method not in PARAMETERS:
            raise MixError(f"{method!r} is no method of a mix; there are {', '.join(sorted(PARAMETERS))}")
        mix[method] = _weight(weight, method) if equals else 1.0
    return mix


def _weight(text: str, method: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = 0.0
    if not 0 < weight < float("inf"):
        raise MixError(f"{method}: {text!r} is no weight")
    return weight


def make_requests(mix: dict[str, float], samples: ChainSamples, count: int, seed: int) -> list[Request]:
    """Return `count` requests in the proportions of `mix`, determined by the seed."""
    chance = random.Random(seed)
    methods = chance.choices(list(mix), list(mix.values()), k=count)
    return [Request(method, PARAMETERS[method](samples, chance)) for method in methods]
