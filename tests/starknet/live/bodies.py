"""Made transactions of blocks, and what clients must be told of them, worked out in a few plain lines."""

import json
from typing import Any

from tests.starknet.live.growing import Place
from wsnode.starknet.felt import felt_text

SENDERS = ["0xa1", "0xa2", "0xa3"]
EMITTERS = ["0xc1", "0xc2"]
KEYS = ["0x1", "0x2", "0x3"]


def made_body(place: Place, transactions: int = 3, events: int = 2, data: int = 1) -> bytes:
    """Return `transactions` transactions with `events` events of `data` felts each."""
    hashes = [transaction_hash(place, index) for index in range(transactions)]
    return json.dumps(
        {
            "status": "ACCEPTED_ON_L2",
            "hashes": hashes,
            "transactions": [
                {"type": "INVOKE", "version": "0x3", "sender_address": SENDERS[index % 3]}
                for index in range(transactions)
            ],
            "receipts": [
                {
                    "type": "INVOKE",
                    "transaction_hash": told,
                    "events": [made_event(index, number, data) for number in range(events)],
                    "execution_status": "SUCCEEDED",
                }
                for index, told in enumerate(hashes)
            ],
            "proof_facts": [["0x7"] if index == 0 else None for index in range(transactions)],
        }
    ).encode()


def made_event(index: int, number: int, data: int = 1) -> dict[str, Any]:
    """Return the event `number` of transaction `index`."""
    return {
        "from_address": EMITTERS[number % 2],
        "keys": [KEYS[index % 3], KEYS[number % 3]],
        "data": [hex(number)] * data,
    }


def transaction_hash(place: Place, index: int) -> str:
    """Return the hash of transaction `index` of a block."""
    return felt_text(place[1][:-1] + bytes([index]))


def event_places(place: Place, transactions: int = 3, events: int = 2) -> list[tuple[str, int, int]]:
    """Return hash and indices of each event of a block."""
    block = felt_text(place[1])
    return [(block, index, number) for index in range(transactions) for number in range(events)]


def told_place(event: dict[str, Any]) -> tuple[str, int, int]:
    """Return hash and indices of an event in a notification."""
    return event["block_hash"], event["transaction_index"], event["event_index"]
