"""Subscribes to everything through starknet.py: WS_URL TRANSACTION_HASH LAST_BLOCK.

Prints a line once it has subscribed, and as one JSON object what it was sent up to a block with that number.
"""

import asyncio
import json
import sys
from typing import Any

from starknet_py.net.websockets.websocket_client import WebsocketClient  # type: ignore[import-not-found]


async def main(url: str, transaction_hash: str, last_block: int) -> dict[str, Any]:
    client = WebsocketClient(node_url=url)
    await client.connect()
    answers: dict[str, list[Any]] = {
        kind: [] for kind in ("heads", "events", "transactions", "receipts", "statuses", "reorganisations")
    }
    counts: dict[str, tuple[int, int]] = {}
    is_complete = asyncio.Event()

    def see() -> None:
        if not answers["heads"] or answers["heads"][-1][0] != last_block:
            return
        head = answers["heads"][-1][1]
        receipts = [item for item in answers["receipts"] if item[0] == head]
        events = [item for item in answers["events"] if item[0] == head]
        if (len(receipts), len(events)) != counts[head] or not answers["statuses"]:
            return
        if receipts[-1][1] == answers["transactions"][-1]:
            is_complete.set()

    def take_head(notification: Any) -> None:
        header = notification.result
        counts[hex(header.block_hash)] = (header.transaction_count, header.event_count)
        answers["heads"].append([header.block_number, hex(header.block_hash)])
        see()

    def take_event(notification: Any) -> None:
        event = notification.result
        place = [
            hex(event.block_hash),
            hex(event.transaction_hash),
            event.transaction_index,
            event.event_index,
        ]
        answers["events"].append([*place, hex(event.from_address), list(map(hex, event.data))])
        see()

    def take_transaction(notification: Any) -> None:
        answers["transactions"].append(hex(notification.result.transaction.hash))
        see()

    def take_receipt(notification: Any) -> None:
        receipt = notification.result
        answers["receipts"].append([hex(receipt.block_hash), hex(receipt.transaction_hash)])
        see()

    def take_status(notification: Any) -> None:
        status = notification.result.status
        answers["statuses"].append([status.finality_status.name, status.execution_status.name])
        see()

    def take_reorganisation(notification: Any) -> None:
        result = notification.result
        answers["reorganisations"].append([result.starting_block_number, result.ending_block_number])

    client.on_chain_reorg = take_reorganisation
    identities = [
        await client.subscribe_new_heads(handler=take_head),
        await client.subscribe_events(handler=take_event),
        await client.subscribe_new_transactions(handler=take_transaction),
        await client.subscribe_new_transaction_receipts(handler=take_receipt),
        await client.subscribe_transaction_status(
            handler=take_status, transaction_hash=int(transaction_hash, 16)
        ),
    ]
    print("subscribed", flush=True)
    failed = asyncio.create_task(client.wait_closed_or_failed())
    complete = asyncio.create_task(is_complete.wait())
    done, _ = await asyncio.wait({failed, complete}, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()
    ended = [await client.unsubscribe(identity) for identity in identities]
    await client.disconnect()
    return {**answers, "unsubscribed": ended}


url, transaction_hash, last_block = sys.argv[1:]
print(json.dumps(asyncio.run(main(url, transaction_hash, int(last_block)))))
