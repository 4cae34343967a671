"""Samples of a node's own chain, so that requests name existing objects."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol

import msgspec

BLOCKS = 48
CANDIDATE_CALLS = 64
CALLS = 32
ADDRESSES = 256
BALANCE_OF = "0x70a08231"


class Chain(Protocol):
    """Answers plain requests about its chain."""

    def ask(self, method: str, *params: object) -> Any:
        """Return the result, or raise."""

    def try_ask(self, method: str, *params: object) -> Any:
        """Return the result, None where it is an error."""


class Samples(msgspec.Struct, frozen=True):
    """Blocks, transactions, addresses and calls of a chain; `largest_block` has most transactions."""

    head: int
    numbers: list[int]
    last_hash: str
    largest_block: int
    transactions: list[str]
    addresses: list[str]
    contracts: list[str]
    calls: list[dict[str, str]]


def take_samples(node: Chain) -> Samples:
    """Return blocks spread over the whole chain with their contents, and calls that succeed at its head.

    Raises:
        RefusedError: The node does not answer `eth_blockNumber`.
    """
    head = int(node.ask("eth_blockNumber"), 16)
    numbers = spread(head)
    blocks = [block for number in numbers if (block := _block(node, number))]
    transactions = [transaction for block in blocks for transaction in block["transactions"]]
    contracts = _distinct(each["to"] for each in transactions if each.get("to") and len(each["input"]) > 2)
    return Samples(
        head=head,
        numbers=[int(block["number"], 16) for block in blocks] or [head],
        last_hash=blocks[-1]["hash"] if blocks else "",
        largest_block=_largest(blocks, head),
        transactions=[transaction["hash"] for transaction in transactions],
        addresses=_addresses(blocks, transactions),
        contracts=contracts,
        calls=_calls(node, transactions, contracts),
    )


def spread(head: int) -> list[int]:
    """Return some block numbers from 1 to `head`, evenly, the head among them."""
    count = min(BLOCKS, max(1, head))
    return sorted({head - head * place // count for place in range(count)})


def _block(node: Chain, number: int) -> Any:
    return node.try_ask("eth_getBlockByNumber", hex(number), True)


def _largest(blocks: list[dict[str, Any]], head: int) -> int:
    largest = max(blocks, key=lambda block: len(block["transactions"]), default={"number": hex(head)})
    return int(largest["number"], 16)


def _addresses(blocks: list[dict[str, Any]], transactions: list[dict[str, Any]]) -> list[str]:
    parties = (each.get(side) for each in transactions for side in ("from", "to"))
    found = _distinct(address for address in parties if address)
    return (found or _distinct(block["miner"] for block in blocks) or ["0x" + 40 * "0"])[:ADDRESSES]


def _calls(node: Chain, transactions: list[dict[str, Any]], contracts: list[str]) -> list[dict[str, str]]:
    """Return calls that succeed: balances of tokens, and what transactions called; else one of nothing."""
    tried = islice(_candidates(transactions, contracts), CANDIDATE_CALLS)
    good = (call for call in tried if node.try_ask("eth_call", call, "latest") not in (None, "0x"))
    return list(islice(good, CALLS)) or [{"to": "0x" + 40 * "0", "data": "0x"}]


def _candidates(transactions: list[dict[str, Any]], contracts: list[str]) -> Iterator[dict[str, str]]:
    seen = set[tuple[str, str]]()
    for each in transactions:
        if each.get("to") not in contracts:
            continue
        owner = each["from"]
        for data in (BALANCE_OF + owner[2:].rjust(64, "0"), each["input"]):
            if (each["to"], data) not in seen:
                seen.add((each["to"], data))
                yield {"from": owner, "to": each["to"], "data": data}


def _distinct(values: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(values))
