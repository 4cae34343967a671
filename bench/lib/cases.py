"""The cases of the table: what is asked, on how many connections, and how many requests at once."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from bench.lib.load import Message, request
from bench.lib.material import Material, balance_slot, word

Shape = tuple[int, int]
ONE_AT_A_TIME: Shape = (1, 1)
HEAVY = 2.0
"""How many times as long a case runs whose replies may take a second."""
MAX_PARAMETERS = 1000
"""geth takes as many addresses, and as many topics at a position; anvil and wsnode take more."""
CALLDATA_BYTES = 30_000
VARIANTS = 8
"""How many different requests there are of those whose text is long."""
UNKNOWN = "0xdeadbeef"
"""A selector of no function of a token: a call with it reverts."""
MIXED_CALLS = 10
BATCHES = (100, 1000)
"""geth takes 1,000 calls by default, with a reply of 25 MB."""


class Case(NamedTuple):
    """One row: `length` times as long as usual."""

    name: str
    messages: Sequence[Message]
    shape: Shape
    length: float = 1.0


def small_cases(shapes: Sequence[Shape]) -> list[Case]:
    """Return the calls that cost next to nothing, in each shape."""
    return [
        Case(f"{method} {connections}x{depth}", [request(method)], (connections, depth))
        for method in ("eth_blockNumber", "eth_chainId")
        for connections, depth in shapes
    ]


def query_cases(material: Material, shape: Shape) -> list[Case]:
    """Return the queries of a chain."""
    token = material.token

    def each(name: str, messages: Sequence[Message]) -> Case:
        return Case(name, messages, shape)

    return [
        each("eth_getBalance", [request("eth_getBalance", who, "latest") for who in material.holders]),
        each("eth_getStorageAt", [request("eth_getStorageAt", token, at, "latest") for at in material.slots]),
        each("eth_call balanceOf", [balance_call(token, who) for who in material.holders]),
        each("eth_call that reverts", [request("eth_call", {"to": token, "data": UNKNOWN}, "latest")]),
        each("eth_estimateGas transfer", [request("eth_estimateGas", call) for call in material.transfers]),
        each("block, full transactions", [of_block(number, full=True) for number in material.blocks]),
        each("block, hashes only", [of_block(number, full=False) for number in material.blocks]),
        each("transaction by hash", by_hash("eth_getTransactionByHash", material)),
        each("receipt", by_hash("eth_getTransactionReceipt", material)),
        each("block receipts", [request("eth_getBlockReceipts", number) for number in material.blocks]),
        each("eth_getLogs, one block", [one_block(token, number) for number in material.blocks]),
        Case("eth_getLogs, 10,000 logs", logs(material.spans), ONE_AT_A_TIME, HEAVY),
        each("eth_getLogs, rare topic", logs(material.rare)),
        each("batch of 10", [batch(material, place) for place in range(len(material.transactions))]),
        *[Case(f"batch of {calls:,}", batches(material, calls), ONE_AT_A_TIME, HEAVY) for calls in BATCHES],
        *[Case(name, messages, shape) for name, messages in long_parameters(material)],
    ]


def long_parameters(material: Material) -> list[tuple[str, Sequence[Message]]]:
    """Return by name the calls of which most is to read what is asked."""
    places = range(VARIANTS)
    thousand = f"{MAX_PARAMETERS:,}"
    return [
        (f"eth_getLogs, {thousand} addresses", [many_addresses(material, place) for place in places]),
        (f"eth_getLogs, {thousand} topics", [many_topics(material, place) for place in places]),
        ("eth_call, 30 kB of calldata", [long_call(material, place) for place in places]),
        (f"eth_call, override of {thousand} slots", [overridden(material, place) for place in places]),
    ]


def many_addresses(material: Material, place: int) -> dict[str, Any]:
    """Return the question for logs of a block by any of a thousand addresses, none of which logs."""
    addresses = [f"0x{0xA0000 + place * MAX_PARAMETERS + each:040x}" for each in range(MAX_PARAMETERS)]
    number = of_variant(material.blocks, place)
    return request("eth_getLogs", {"fromBlock": number, "toBlock": number, "address": addresses})


def many_topics(material: Material, place: int) -> dict[str, Any]:
    """Return the question for the token's logs of a block with any of a thousand recipients, none of them."""
    first = 0xB0000 + place * MAX_PARAMETERS
    recipients = ["0x" + word(hex(first + each)) for each in range(MAX_PARAMETERS)]
    number = of_variant(material.blocks, place)
    wanted = {"fromBlock": number, "toBlock": number, "address": material.token}
    return request("eth_getLogs", {**wanted, "topics": [None, None, recipients]})


def long_call(material: Material, place: int) -> dict[str, Any]:
    """Return the question what a holder has of the token, with bytes after it that the token ignores."""
    holder = of_variant(material.holders, place)
    data = "0x70a08231" + word(holder) + "5a" * CALLDATA_BYTES
    return request("eth_call", {"to": material.token, "data": data}, "latest")


def overridden(material: Material, place: int) -> dict[str, Any]:
    """Return the question what a holder has of the token if a thousand others have more."""
    asked = balance_call(material.token, of_variant(material.holders, place))
    first = 0xC0000 + place * MAX_PARAMETERS
    slots = {balance_slot(hex(first + each)): "0x" + word(hex(each + 1)) for each in range(MAX_PARAMETERS)}
    return {**asked, "params": [*asked["params"], {material.token: {"stateDiff": slots}}]}


def of_variant(values: Sequence[str], place: int) -> str:
    """Return one of the values for a variant, the first again after the last."""
    return values[place % len(values)]


def balance_call(token: str, holder: str) -> dict[str, Any]:
    """Return the question what a holder has of the token."""
    return request("eth_call", {"to": token, "data": "0x70a08231" + word(holder)}, "latest")


def of_block(number: str, *, full: bool) -> dict[str, Any]:
    """Return the question for a block."""
    return request("eth_getBlockByNumber", number, full)


def by_hash(method: str, material: Material) -> list[Message]:
    """Return a question for each transaction."""
    return [request(method, transaction) for transaction in material.transactions]


def one_block(token: str, number: str) -> dict[str, Any]:
    """Return the question for the token's logs of a block."""
    return request("eth_getLogs", {"fromBlock": number, "toBlock": number, "address": token})


def logs(filters: Sequence[dict[str, Any]]) -> list[Message]:
    """Return the question for the logs of each filter."""
    return [request("eth_getLogs", wanted) for wanted in filters]


def batches(material: Material, calls: int) -> list[Message]:
    """Return long batches, which together ask about most of the chain's samples."""
    mixes = calls // MIXED_CALLS
    starts = range(0, max(1, len(material.transactions) - mixes), mixes)
    return [batch(material, start, calls) for start in starts[:VARIANTS]]


def batch(material: Material, place: int, calls: int = MIXED_CALLS) -> list[dict[str, Any]]:
    """Return requests of what applications ask, ten for each of neighbouring places."""
    asked = [each for start in range(calls // MIXED_CALLS) for each in mixed(material, place + start)]
    # The client changes the first id only.
    return [asked[0], *({**each, "id": identity} for identity, each in enumerate(asked[1:], start=2))]


def mixed(material: Material, place: int) -> list[dict[str, Any]]:
    """Return ten requests of what applications ask."""
    holder = of_variant(material.holders, place)
    transaction = of_variant(material.transactions, place)
    return [
        request("eth_chainId"),
        request("eth_blockNumber"),
        request("eth_getBalance", holder, "latest"),
        balance_call(material.token, holder),
        of_block(of_variant(material.blocks, place), full=False),
        request("eth_getTransactionByHash", transaction),
        request("eth_getTransactionReceipt", transaction),
        request("eth_getStorageAt", material.token, of_variant(material.slots, place), "latest"),
        request("eth_getTransactionCount", holder, "latest"),
        request("eth_gasPrice"),
    ]
