"""Samples of a node's own chain, so that requests name existing objects."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol

import msgspec

from wsnode.untrusted.decoding import decode_quantity, one_error

BLOCKS = 48
CANDIDATE_CALLS = 64
CALLS = 32
ADDRESSES = 256
BALANCE_OF = "0x70a08231"


class SampledNode(Protocol):
    """Node that is asked for samples of its chain by single calls; `NodeReader` implements it."""

    def ask(self, method: str, *params: object) -> Any:
        """Return the result, or raise if it is an error."""

    def try_ask(self, method: str, *params: object) -> Any:
        """Return the result, None if it is an error."""


class ChainSamples(msgspec.Struct, frozen=True):
    """Samples of a node's chain, of which the parameters of requests are made; `fullest_block` is the number
    of the sampled block with the most transactions.
    """

    head: int
    numbers: list[int]
    last_hash: str
    fullest_block: int
    transactions: list[str]
    addresses: list[str]
    contracts: list[str]
    calls: list[dict[str, str]]


class _Transaction(msgspec.Struct):
    hash: str
    sender: str = msgspec.field(name="from")
    input: str
    to: str | None = None


class _Block(msgspec.Struct):
    number: str
    hash: str
    miner: str
    transactions: list[_Transaction]


def take_samples(node: SampledNode) -> ChainSamples:
    """Return blocks spread over the whole chain with their contents, and calls that succeed at its head.

    Raises:
        NodeRefusedError: The node does not answer `eth_blockNumber`.
        MalformedError: It answers with another form than a number, or a block.
    """
    head = decode_quantity(node.ask("eth_blockNumber"))
    numbers = spread(head)
    blocks = [block for number in numbers if (block := _block(node, number))]
    transactions = [transaction for block in blocks for transaction in block.transactions]
    contracts = _distinct(each.to for each in transactions if each.to and len(each.input) > 2)
    return ChainSamples(
        head=head,
        numbers=[decode_quantity(block.number) for block in blocks] or [head],
        last_hash=blocks[-1].hash if blocks else "",
        fullest_block=_largest(blocks, head),
        transactions=[transaction.hash for transaction in transactions],
        addresses=_addresses(blocks, transactions),
        contracts=contracts,
        calls=_calls(node, transactions, contracts),
    )


def spread(head: int) -> list[int]:
    """Return at most 48 block numbers from 1 to `head`, evenly spaced, `head` included; `[0]` for head 0."""
    count = min(BLOCKS, max(1, head))
    return sorted({head - head * place // count for place in range(count)})


def _block(node: SampledNode, number: int) -> _Block | None:
    told = node.try_ask("eth_getBlockByNumber", hex(number), True)
    with one_error():
        return None if told is None else msgspec.convert(told, _Block)


def _largest(blocks: list[_Block], head: int) -> int:
    largest = max(blocks, key=lambda block: len(block.transactions), default=None)
    return head if largest is None else decode_quantity(largest.number)


def _addresses(blocks: list[_Block], transactions: list[_Transaction]) -> list[str]:
    parties = (side for each in transactions for side in (each.sender, each.to))
    found = _distinct(address for address in parties if address)
    return (found or _distinct(block.miner for block in blocks) or ["0x" + 40 * "0"])[:ADDRESSES]


def _calls(node: SampledNode, transactions: list[_Transaction], contracts: list[str]) -> list[dict[str, str]]:
    """Return calls that succeed: token balances and calls of transactions, else one of the zero address."""
    tried = islice(_candidates(transactions, contracts), CANDIDATE_CALLS)
    good = (call for call in tried if node.try_ask("eth_call", call, "latest") not in (None, "0x"))
    return list(islice(good, CALLS)) or [{"to": "0x" + 40 * "0", "data": "0x"}]


def _candidates(transactions: list[_Transaction], contracts: list[str]) -> Iterator[dict[str, str]]:
    seen = set[tuple[str, str]]()
    for each in transactions:
        if each.to is None or each.to not in contracts:
            continue
        for data in (BALANCE_OF + each.sender[2:].rjust(64, "0"), each.input):
            if (each.to, data) not in seen:
                seen.add((each.to, data))
                yield {"from": each.sender, "to": each.to, "data": data}


def _distinct(values: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(values))
