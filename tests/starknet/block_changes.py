"""Changes of one member of a block with receipts or of its state update: what do hashes cover?"""

import copy
import re
from collections.abc import Iterator
from typing import Any

from wsnode.starknet.block import version_numbers
from wsnode.starknet.trust import trusted_members

Json = dict[str, Any]
Path = tuple[str | int, ...]

WORDS = {
    "BLOB": "CALLDATA",
    "CALLDATA": "BLOB",
    "SUCCEEDED": "REVERTED",
    "REVERTED": "SUCCEEDED",
    "FRI": "WEI",
    "WEI": "FRI",
    "L1": "L2",
    "L2": "L1",
    "INVOKE": "DECLARE",
    "DECLARE": "DEPLOY_ACCOUNT",
    "DEPLOY_ACCOUNT": "INVOKE",
    "L1_HANDLER": "INVOKE",
    "ACCEPTED_ON_L1": "ACCEPTED_ON_L2",
    "ACCEPTED_ON_L2": "ACCEPTED_ON_L1",
}
"""A member's word, and another one that it might be."""
PAIR = {"class_hash": "0x1", "compiled_class_hash": "0x2"}
ITEMS: Json = {
    "events": {"from_address": "0x1", "keys": [], "data": []},
    "messages_sent": {"from_address": "0x1", "to_address": "0x2", "payload": []},
    "storage_diffs": {"address": "0x3", "storage_entries": [{"key": "0x1", "value": "0x1"}]},
    "storage_entries": {"key": "0x1", "value": "0x1"},
    "nonces": {"contract_address": "0x3", "nonce": "0x1"},
    "deployed_contracts": {"address": "0x3", "class_hash": "0x1"},
    "replaced_classes": {"contract_address": "0x3", "class_hash": "0x1"},
    "declared_classes": PAIR,
    "migrated_compiled_classes": PAIR,
}
"""What comes into an empty list; into any other one comes a felt."""
VERSION = re.compile(r"\d+(\.\d+)+")


def paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """Yield the way to each value that is no object, lists before their items."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from paths(inner, (*at, name))
        return
    yield at
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths(inner, (*at, index))


def changed(document: Json, path: Path) -> Json:
    """Return a copy with another value at the path.

    A list lacks its last item, or has one if it was empty.
    """
    document = copy.deepcopy(document)
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    last = path[-1]
    place[last] = [ITEMS.get(str(last), "0x1")] if place[last] == [] else other_value(place[last])
    return document


def other_value(value: Any) -> Any:
    if isinstance(value, list):
        return value[:-1]
    if isinstance(value, int):
        return value + 1
    assert isinstance(value, str)
    if value in WORDS:
        return WORDS[value]
    if VERSION.fullmatch(value):
        return value[:-1] + str((int(value[-1]) + 1) % 10)
    if value.startswith("0x"):
        return hex(int(value, 16) ^ 1)
    return value + "."


def is_trusted(document: Json, path: Path) -> bool:
    """Whether the hash of the block does not cover what lies at the path."""
    block = document["block"]
    inside = path[1:] if path[0] == "block" else path
    name = re.sub(r"\.?\[\]", "[]", ".".join("[]" if isinstance(step, int) else step for step in inside))
    kind = None
    if inside[0] == "transactions" and len(inside) > 1:
        kind = block["transactions"][inside[1]]["transaction"]["type"]
    version = version_numbers(block.get("starknet_version")) or ()
    return any(
        name == member or name.startswith((f"{member}.", f"{member}["))
        for member in trusted_members(version, kind)
    )
