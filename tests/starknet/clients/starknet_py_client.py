"""Asks a node through starknet.py: URL ADDRESS KEY CLASS_HASH; prints one JSON object."""

import asyncio
import json
import sys
from typing import Any

# It runs in an environment of its own: its pins would hold back ours.
from starknet_py.net.client_errors import ClientError  # type: ignore[import-not-found]
from starknet_py.net.full_node_client import FullNodeClient  # type: ignore[import-not-found]


async def main(url: str, address: str, key: str, class_hash: str) -> dict[str, Any]:
    client = FullNodeClient(node_url=url)
    update = await client.get_state_update(block_number=9)
    latest = await client.get_block_hash_and_number()
    definition = await client.get_class_at(contract_address=address, block_number="latest")
    by_hash = await client.get_class_by_hash(class_hash=class_hash, block_number="latest")
    pending = await client.get_state_update(block_number="pre_confirmed")
    answers = {
        "chain_id": await client.get_chain_id(),
        "spec_version": await client.spec_version(),
        "block_number": await client.get_block_number(),
        "latest": [hex(latest.block_hash), latest.block_number],
        "class_hash": hex(await client.get_class_hash_at(contract_address=address, block_number=9)),
        "same_class": definition == by_hash,
        "kind": type(definition).__name__,
        "program": getattr(definition, "program", None),
        "storage": hex(await client.get_storage_at(address, int(key, 16), block_number="latest")),
        "nonce": await client.get_contract_nonce(address, block_number="latest"),
        "new_root": hex(update.new_root),
        "storage_diffs": {
            hex(item.address): {hex(entry.key): hex(entry.value) for entry in item.storage_entries}
            for item in update.state_diff.storage_diffs
        },
        "pending_old_root": pending.old_root and hex(pending.old_root),
    }
    try:
        await client.get_class_hash_at(contract_address="0x5", block_number="latest")
    except ClientError as error:
        answers["refused"] = error.code
    return answers


print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
