"""JSON schemas of the Starknet family's parameters and results, under starknet-specs' names."""

from typing import Final

from wsnode.jsonrpc.schema import (
    COUNT,
    STRING,
    Schema,
    either,
    list_of,
    members,
    record,
    reference,
    text,
)

FELT: Final = reference("FELT")
HEX: Final = text("0x[0-9a-f]+")
WRITTEN_FELT: Final = text("0[xX][0-9a-fA-F]{1,64}")
_NUMBERED: Final = members({"block_number": COUNT}, "block_number")
_HASHED: Final = members({"block_hash": WRITTEN_FELT}, "block_hash")
BLOCK_ID: Final = either(_NUMBERED, _HASHED, {"enum": ["latest", "pending", "pre_confirmed", "l1_accepted"]})
FIRST_BLOCK: Final = either(_NUMBERED, _HASHED, {"enum": ["latest"]})
_COMPILED: Final = record(dict.fromkeys(("class_hash", "compiled_class_hash"), FELT))
_ENTRY: Final = record(dict.fromkeys(("key", "value"), FELT))
_PARAMETER: Final = members(dict.fromkeys(("name", "type"), STRING))


def _entry_points(point: Schema) -> Schema:
    return record(dict.fromkeys(("CONSTRUCTOR", "EXTERNAL", "L1_HANDLER"), list_of(point)))


def _diff(storage: Schema) -> Schema:
    return record(
        {
            "storage_diffs": list_of(storage),
            "deprecated_declared_classes": list_of(FELT),
            "declared_classes": list_of(_COMPILED),
            "deployed_contracts": list_of(record(dict.fromkeys(("address", "class_hash"), FELT))),
            "replaced_classes": list_of(record(dict.fromkeys(("contract_address", "class_hash"), FELT))),
            "nonces": list_of(record(dict.fromkeys(("contract_address", "nonce"), FELT))),
        },
        {"migrated_compiled_classes": {**list_of(_COMPILED), "minItems": 1}},
    )


def _state_update(diff: str) -> Schema:
    changed: dict[str, Schema] = {"old_root": FELT, "state_diff": reference(diff)}
    return either(
        record({**dict.fromkeys(("block_hash", "new_root"), FELT), **changed}),
        # A pending block has neither a hash nor a root; starknet-specs 0.10 lets `old_root` out too.
        record({"state_diff": changed["state_diff"]}, {"old_root": FELT}),
    )


COMPONENTS: Final[dict[str, Schema]] = {
    "FELT": text("0x(0|[1-9a-f][0-9a-f]{0,63})"),
    "STATE_DIFF": _diff(record({"address": FELT, "storage_entries": list_of(_ENTRY)})),
    "FLAT_STATE_DIFF": _diff(record(dict.fromkeys(("address", "key", "value"), FELT))),
    "CONTRACT_CLASS": record(
        {
            "sierra_program": list_of(FELT),
            "contract_class_version": STRING,
            "entry_points_by_type": _entry_points(record({"selector": FELT, "function_idx": COUNT})),
        },
        {"abi": STRING},
    ),
    "DEPRECATED_CONTRACT_CLASS": record(
        {
            "program": text("[A-Za-z0-9+/]+=*"),
            "entry_points_by_type": _entry_points(record({"offset": HEX, "selector": FELT})),
        },
        {
            "abi": list_of(
                members(
                    {
                        **dict.fromkeys(("name", "type", "stateMutability"), STRING),
                        "size": COUNT,
                        **dict.fromkeys(
                            ("inputs", "outputs", "keys", "data", "members"), list_of(_PARAMETER)
                        ),
                    }
                )
            )
        },
    ),
}
CLASS: Final = either(reference("CONTRACT_CLASS"), reference("DEPRECATED_CONTRACT_CLASS"))
STATE_UPDATES: Final = {"alt": _state_update("FLAT_STATE_DIFF"), "starknet": _state_update("STATE_DIFF")}
"""The two forms of getStateUpdate, one for each family."""
SLOT: Final = either(FELT, record({"value": FELT, "last_update_block": COUNT}))
HEAD: Final = record({"block_hash": FELT, "block_number": COUNT})
SUBSCRIPTION: Final = text("0x[0-9a-f]{32}")
PROOF_COMPONENTS: Final[dict[str, Schema]] = {
    "MERKLE_NODE": either(
        record(dict.fromkeys(("left", "right"), FELT)), record({"path": HEX, "length": COUNT, "child": FELT})
    )
}
_NODES: Final = list_of(record({"node_hash": FELT, "node": reference("MERKLE_NODE")}))
_LEAF: Final = record(dict.fromkeys(("nonce", "class_hash", "storage_root"), FELT))
STORAGE_PROOF: Final = record(
    {
        "classes_proof": _NODES,
        # As pathfinder and juno have it, null stands for a contract that does not exist.
        "contracts_proof": record(
            {"nodes": _NODES, "contract_leaves_data": list_of(either(_LEAF, {"type": "null"}))}
        ),
        "contracts_storage_proofs": list_of(_NODES),
        "global_roots": record(
            dict.fromkeys(("contracts_tree_root", "classes_tree_root", "block_hash"), FELT)
        ),
    }
)
