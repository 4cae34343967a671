"""The cases of the table: what is asked, on how many connections, and how many requests at once."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from bench.lib.load import Message, request
from bench.lib.material import Material, word

Shape = tuple[int, int]
ONE_AT_A_TIME: Shape = (1, 1)
HEAVY = 2.0
"""How many times as long a case runs whose replies may take a second."""


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
    ]


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


def batch(material: Material, place: int) -> list[dict[str, Any]]:
    """Return ten requests of what applications ask."""
    holder = material.holders[place % len(material.holders)]
    transaction = material.transactions[place]
    block = material.blocks[place % len(material.blocks)]
    slot = material.slots[place % len(material.slots)]
    asked = [
        request("eth_chainId"),
        request("eth_blockNumber"),
        request("eth_getBalance", holder, "latest"),
        balance_call(material.token, holder),
        of_block(block, full=False),
        request("eth_getTransactionByHash", transaction),
        request("eth_getTransactionReceipt", transaction),
        request("eth_getStorageAt", material.token, slot, "latest"),
        request("eth_getTransactionCount", holder, "latest"),
        request("eth_gasPrice"),
    ]
    # The client changes the first id only.
    return [asked[0], *({**each, "id": identity} for identity, each in enumerate(asked[1:], start=2))]
