"""Asks a node for a block and its transactions through starknet.py: URL NUMBER; prints one JSON object."""

import asyncio
import json
import sys
from typing import Any

# It runs in an environment of its own: its pins would hold back ours.
from starknet_py.net.full_node_client import FullNodeClient  # type: ignore[import-not-found]
from starknet_py.transaction_errors import (  # type: ignore[import-not-found]
    TransactionNotReceivedError,
)


async def main(url: str, number: int) -> dict[str, Any]:
    client = FullNodeClient(node_url=url)
    whole = await client.get_block(block_number=number)
    receipts = await client.get_block_with_receipts(block_number=number)
    hashes = await client.get_block_with_tx_hashes(block_number=number)
    found = [await client.get_transaction(tx_hash) for tx_hash in hashes.transactions]
    placed = [await client.get_transaction_receipt(tx_hash) for tx_hash in hashes.transactions]
    statuses = [await client.get_transaction_status(tx_hash) for tx_hash in hashes.transactions]
    by_index = [
        await client.get_transaction_by_block_id(index, block_number=number) for index in range(len(found))
    ]
    answers: dict[str, Any] = {
        "block_hash": hex(whole.block_hash),
        "hashes": [hex(tx_hash) for tx_hash in hashes.transactions],
        "count": await client.get_block_transaction_count(block_number=number),
        "same": whole.transactions == found == by_index,
        "kinds": [type(item.transaction).__name__ for item in receipts.transactions],
        "fees": [hex(item.receipt.actual_fee.amount) for item in receipts.transactions],
        "blocks": [receipt.block_number for receipt in placed],
        "events": sum(len(receipt.events) for receipt in placed),
        "outcomes": [status.execution_status.name for status in statuses],
    }
    page = await client.get_events(
        from_block_number=number, to_block_number=number, chunk_size=5, follow_continuation_token=True
    )
    answers["page"] = [[hex(event.from_address), list(map(hex, event.keys))] for event in page.events]
    try:
        await client.get_transaction(1)
    except TransactionNotReceivedError:
        answers["refused"] = True
    return answers


print(json.dumps(asyncio.run(main(sys.argv[1], int(sys.argv[2])))))
