"""What the chain must say, worked out from the feeder files in a few plain lines."""

import json
from pathlib import Path
from typing import Any


def state_updates(mainnet: Path) -> list[dict[str, Any]]:
    return [json.loads((mainnet / "state_update" / f"{number}.json").read_text()) for number in range(10)]


def rpc_diff(feeder: dict[str, Any]) -> dict[str, Any]:
    """Return a feeder diff in starknet-specs' form, as INDEX of the public fixtures converts it."""
    return {
        "storage_diffs": [
            {"address": address, "storage_entries": entries}
            for address, entries in feeder["storage_diffs"].items()
        ],
        "deprecated_declared_classes": feeder.get("old_declared_contracts", []),
        "declared_classes": feeder["declared_classes"],
        "deployed_contracts": feeder["deployed_contracts"],
        "replaced_classes": [
            {"contract_address": item["address"], "class_hash": item["class_hash"]}
            for item in feeder["replaced_classes"]
        ],
        "nonces": [
            {"contract_address": address, "nonce": nonce} for address, nonce in feeder["nonces"].items()
        ],
    }


def flat_rows(feeder: dict[str, Any]) -> list[dict[str, str]]:
    return [
        {"address": address, "key": entry["key"], "value": entry["value"]}
        for address, entries in feeder["storage_diffs"].items()
        for entry in entries
    ]


def ordered(value: Any) -> Any:
    """Return `value` with every list sorted: starknet-specs leaves their order open."""
    if isinstance(value, dict):
        return {name: ordered(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return sorted((ordered(inner) for inner in value), key=lambda item: json.dumps(item, sort_keys=True))
    return value
