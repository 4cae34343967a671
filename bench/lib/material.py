"""What the cases of the table ask about, read from the chain of each node itself.

The same chain gives the same material: numbers are drawn with a fixed seed.
"""

import random
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

from wsnode.ethereum.codec.blocks import keccak256
from wsnode.load.mix.samples import spread
from wsnode.load.node_reader import NodeReader, NodeRefusedError

TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
MAX_VALUES = 1000
MAX_LOGS = 10_000
SPANS = 8
RARE_FILTERS = 100

Block = dict[str, Any]


class Material(NamedTuple):
    """Hexadecimal texts as requests have them, each list in random order."""

    head: str
    blocks: list[str]
    transactions: list[str]
    token: str
    holders: list[str]
    slots: list[str]
    transfers: list[dict[str, str]]
    """Transactions of the token that succeed."""
    rare: list[dict[str, Any]]
    """Filters over the whole chain that few logs pass."""
    spans: list[dict[str, Any]]
    """Filters that up to ten thousand logs pass, nearly that many where the chain has them."""


class UnfitChainError(ValueError):
    """The chain lacks what the table asks about; the message says what."""


def read_material(url: str, rare_topic: str | None) -> Material:
    """Return the material of a node's chain; without `rare_topic`, rare is a recipient of few transfers.

    Raises:
        UnfitChainError: There are no transfers of a token.
        ConnectionError: The node does not answer.
    """
    chance = random.Random(1)
    with NodeReader(url) as node:
        head = int(node.ask("eth_blockNumber"), 16)
        blocks: list[Block] = [node.ask("eth_getBlockByNumber", hex(each), True) for each in spread(head)]
        logs = [log for block in blocks for log in node.ask("eth_getLogs", of_block(block["number"]))]
        transfers = [log for log in logs if log["topics"][:1] == [TRANSFER] and len(log["topics"]) == 3]
        if not transfers:
            raise UnfitChainError(f"{url}: no transfers in {len(blocks)} of {head} blocks")
        token = Counter(log["address"] for log in transfers).most_common(1)[0][0]
        parties = list(dict.fromkeys(client(log, place) for log in transfers for place in (1, 2)))
        transactions = [each["hash"] for block in blocks for each in block["transactions"]]
        return Material(
            head=hex(head),
            blocks=[hex(each) for each in shuffled(range(1, head + 1), chance)],
            transactions=shuffled(transactions, chance),
            token=token,
            holders=shuffled(parties, chance),
            slots=[balance_slot(address) for address in shuffled(parties, chance)][:RARE_FILTERS],
            transfers=possible_transfers(node, token, transfers),
            rare=rare_filters(node, head, transfers, rare_topic),
            spans=spans(node, head, token, len(transfers) / len(blocks), chance),
        )


def of_block(number: str) -> dict[str, str]:
    """Return a filter for one block."""
    return {"fromBlock": number, "toBlock": number}


def shuffled(values: Sequence[Any], chance: random.Random) -> list[Any]:
    """Return at most a thousand of the values in random order."""
    return chance.sample(values, min(MAX_VALUES, len(values)))


def client(log: dict[str, Any], place: int) -> str:
    """Return the address in a topic."""
    return "0x" + str(log["topics"][place])[26:]


def word(value: str) -> str:
    """Return an address or number as 32 bytes without prefix."""
    return value.removeprefix("0x").rjust(64, "0")


def balance_slot(address: str) -> str:
    """Return where a token whose first variable is the mapping of balances keeps one."""
    return "0x" + keccak256(bytes.fromhex(word(address) + word("0"))).hex()


def transfer_call(token: str, sender: str, recipient: str, amount: int) -> dict[str, str]:
    """Return a transfer of a token as a call object."""
    return {"from": sender, "to": token, "data": "0xa9059cbb" + word(recipient) + word(hex(amount))}


def possible_transfers(node: NodeReader, token: str, transfers: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return transfers that senders of earlier ones can afford."""
    senders = list(dict.fromkeys(client(log, 1) for log in transfers if log["address"] == token))[
        :RARE_FILTERS
    ]
    calls = (transfer_call(token, sender, senders[0], 1) for sender in senders)
    good = list(islice((call for call in calls if node.try_ask("eth_estimateGas", call)), RARE_FILTERS))
    if not good:
        raise UnfitChainError(f"nobody can transfer the token {token}")
    return [
        transfer_call(token, each["from"], f"0x{0x70000 + place:040x}", 1)
        for place in range(RARE_FILTERS)
        for each in (good[place % len(good)],)
    ]


def rare_filters(
    node: NodeReader, head: int, transfers: list[dict[str, Any]], topic: str | None
) -> list[dict[str, Any]]:
    """Return filters over all blocks: for the topic if any log has it, else for seldom recipients."""
    whole = {"fromBlock": "0x0", "toBlock": hex(head)}
    if topic is not None:
        wanted = {**whole, "topics": [topic]}
        if node.ask("eth_getLogs", wanted):
            return [wanted]
    recipients = Counter(log["topics"][2] for log in transfers).most_common()[::-1]
    return [
        {**whole, "topics": [TRANSFER, None, recipient]} for recipient, _count in recipients[:RARE_FILTERS]
    ]


def spans(
    node: NodeReader, head: int, token: str, per_block: float, chance: random.Random
) -> list[dict[str, Any]]:
    """Return ranges of blocks with up to ten thousand logs of the token."""
    found = list[dict[str, Any]]()
    for _ in range(SPANS):
        length = min(head, int(MAX_LOGS / per_block * 0.99))
        first = chance.randint(1, head - length + 1)
        while length > 0:
            wanted = {"fromBlock": hex(first), "toBlock": hex(first + length - 1), "address": token}
            try:
                count = len(node.ask("eth_getLogs", wanted))
            except NodeRefusedError:
                count = MAX_LOGS + 1
            if count <= MAX_LOGS:
                found.append(wanted)
                break
            length = int(length * 0.98)
    return found
