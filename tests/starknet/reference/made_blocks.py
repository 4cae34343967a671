"""All blocks that a reference node has made, and what a node must serve of a chain of them."""

import json
from pathlib import Path
from typing import Any, Final

from tests.starknet.block_changes import Json

EVENTS: Final = "Events"
HEADS: Final = "NewHeads"
RECEIPTS: Final = "NewTransactionReceipts"
KINDS: Final = (EVENTS, HEADS, RECEIPTS)
"""Kinds of subscriptions, as their methods end."""


class MadeBlocks:
    """The blocks of the file that the node writes, by hash."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        self._blocks: dict[str, Json] = {}

    def __getitem__(self, block_hash: str) -> Json:
        """Return a block.

        Raises:
            KeyError: The node has never made it.
        """
        if block_hash not in self._blocks:
            self._read_on()
        return self._blocks[block_hash]

    def __contains__(self, block_hash: str) -> bool:
        """Return whether the node has made a block."""
        if block_hash not in self._blocks:
            self._read_on()
        return block_hash in self._blocks

    def branch(self, block_hash: str) -> list[Json]:
        """Return the chain that ends in a block, from block 0 on."""
        found = []
        for _ in range(self[block_hash]["header"]["block_number"] + 1):
            found.append(self[block_hash])
            block_hash = found[-1]["header"]["parent_hash"]
        return found[::-1]

    def slot(self, block_hash: str, address: str, key: str) -> str:
        """Return the value of a slot after a block."""
        for block in reversed(self.branch(block_hash)):
            for row in block["state_diff"]["storage_diffs"]:
                for entry in row["storage_entries"]:
                    if (row["address"], entry["key"]) == (address, key):
                        return str(entry["value"])
        return "0x0"

    def nonce(self, block_hash: str, address: str) -> str:
        """Return the nonce of a contract after a block."""
        for block in reversed(self.branch(block_hash)):
            for row in block["state_diff"]["nonces"]:
                if row["contract_address"] == address:
                    return str(row["nonce"])
        return "0x0"

    def _read_on(self) -> None:
        with self._path.open() as file:
            file.seek(self._read)
            lines = file.read().split("\n")
        # The last line may be written at this moment.
        for line in lines[:-1]:
            self._read += len(line.encode()) + 1
            block = json.loads(line)
            self._blocks[block["header"]["block_hash"]] = block


def notifications(kind: str, block: Json) -> list[Any]:
    """Return what a subscription sends of a block, in order, without finality."""
    header = block["header"]
    place = {"block_hash": header["block_hash"], "block_number": header["block_number"]}
    if kind == HEADS:
        return [without_finality(header)]
    receipts = [entry["receipt"] for entry in block["transactions"]]
    if kind == RECEIPTS:
        return [without_finality(receipt | place) for receipt in receipts]
    return [
        event
        | place
        | {
            "transaction_hash": receipt["transaction_hash"],
            "transaction_index": transaction_index,
            "event_index": event_index,
        }
        for transaction_index, receipt in enumerate(receipts)
        for event_index, event in enumerate(receipt["events"])
    ]


def without_finality(item: Json) -> Json:
    """Return an item without what changes once L1 accepts its block."""
    return {name: value for name, value in item.items() if name not in ("status", "finality_status")}
