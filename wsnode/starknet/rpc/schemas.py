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
from wsnode.starknet.body import TRANSACTION_MEMBERS, WITH_PROOF_FACTS

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
        # A pending block has neither a hash nor a root; starknet-specs 0.10 makes `old_root` optional too.
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

FELTS: Final = list_of(FELT)
LAYER: Final[Schema] = {"enum": ["L1", "L2"]}
STATUS: Final[Schema] = {"enum": ["ACCEPTED_ON_L2", "ACCEPTED_ON_L1"]}
FINALITY: Final[Schema] = {"enum": ["PRE_CONFIRMED", *STATUS["enum"]]}
EXECUTION_STATUS: Final[Schema] = {"enum": ["SUCCEEDED", "REVERTED"]}
_BOUND: Final = record(dict.fromkeys(("max_amount", "max_price_per_unit"), FELT))
_PRICE: Final = record(dict.fromkeys(("price_in_fri", "price_in_wei"), FELT))
_EVENT: Final[dict[str, Schema]] = {"from_address": FELT, "keys": FELTS, "data": FELTS}
_MEMBERS: Final[dict[str, Schema]] = {
    **dict.fromkeys(("signature", "calldata", "constructor_calldata", "proof_facts"), FELTS),
    **dict.fromkeys(("paymaster_data", "account_deployment_data"), FELTS),
    **dict.fromkeys(("nonce_data_availability_mode", "fee_data_availability_mode"), LAYER),
    "resource_bounds": record(dict.fromkeys(("l1_gas", "l2_gas", "l1_data_gas"), _BOUND)),
}
"""Members of transactions that are not felts."""
_HEADER: Final[dict[str, Schema]] = {
    "block_number": COUNT,
    **dict.fromkeys(("block_hash", "parent_hash", "new_root"), FELT),
}
_OF_ALL_HEADERS: Final[dict[str, Schema]] = {
    "timestamp": COUNT,
    "sequencer_address": FELT,
    **dict.fromkeys(("l1_gas_price", "l2_gas_price", "l1_data_gas_price"), _PRICE),
    "l1_da_mode": {"enum": ["BLOB", "CALLDATA"]},
    "starknet_version": STRING,
}
_COMMITMENTS: Final[dict[str, Schema]] = {
    **dict.fromkeys(("transaction_commitment", "event_commitment"), FELT),
    **dict.fromkeys(("receipt_commitment", "state_diff_commitment"), FELT),
    **dict.fromkeys(("transaction_count", "event_count", "state_diff_length"), COUNT),
}


def _transaction(*, with_hash: bool) -> Schema:
    """Return the schema of a transaction of any kind and version."""
    forms = []
    for (kind, version), names in TRANSACTION_MEMBERS.items():
        needed: dict[str, Schema] = {"type": {"const": kind}}
        needed |= {name: _MEMBERS.get(name, FELT) for name in names}
        if with_hash:
            needed["transaction_hash"] = FELT
        forms.append(record(needed, {"proof_facts": FELTS} if (kind, version) == WITH_PROOF_FACTS else None))
    return either(*forms)


def _receipt(extra: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    common: dict[str, Schema] = {
        "transaction_hash": FELT,
        "actual_fee": record({"amount": FELT, "unit": {"enum": ["WEI", "FRI"]}}),
        "finality_status": FINALITY,
        "messages_sent": list_of(
            record({**dict.fromkeys(("from_address", "to_address"), FELT), "payload": FELTS})
        ),
        "events": list_of(record(_EVENT)),
        "execution_resources": record(dict.fromkeys(("l1_gas", "l1_data_gas", "l2_gas"), COUNT)),
        "execution_status": EXECUTION_STATUS,
    }
    beside: tuple[tuple[list[str], dict[str, Schema]], ...] = (
        (["INVOKE", "DECLARE"], {}),
        (["DEPLOY", "DEPLOY_ACCOUNT"], {"contract_address": FELT}),
        (["L1_HANDLER"], {"message_hash": {"type": "string", "pattern": "^0x[0-9a-f]{64}$"}}),
    )
    return either(
        *(
            record(
                {"type": {"enum": kinds}, **common, **own, **extra},
                {"revert_reason": STRING, **(optional or {})},
            )
            for kinds, own in beside
        )
    )


def _block(item: Schema) -> Schema:
    return either(
        record(
            {"status": STATUS, **_HEADER, "transactions": list_of(item)}, {**_OF_ALL_HEADERS, **_COMMITMENTS}
        ),
        # The pending block has neither a hash nor roots.
        record({"block_number": COUNT, "transactions": list_of(item)}, _OF_ALL_HEADERS),
    )


TRANSACTION_COMPONENTS: Final[dict[str, Schema]] = {
    "TXN": _transaction(with_hash=False),
    "TXN_WITH_HASH": _transaction(with_hash=True),
    "TXN_RECEIPT": _receipt({}),
}
TRANSACTION_WITH_HASH: Final = reference("TXN_WITH_HASH")
# The pre-confirmed block has no hash.
PLACED_RECEIPT: Final = _receipt({"block_number": COUNT}, {"block_hash": FELT})
EVENTS_CHUNK: Final = record(
    {
        "events": list_of(
            record(
                {
                    **_EVENT,
                    "transaction_hash": FELT,
                    **dict.fromkeys(("block_number", "transaction_index", "event_index"), COUNT),
                },
                {"block_hash": FELT},
            )
        )
    },
    {"continuation_token": STRING},
)
TRANSACTION_STATUS: Final = record(
    {"finality_status": {"enum": ["RECEIVED", "CANDIDATE", *FINALITY["enum"]]}},
    {"execution_status": EXECUTION_STATUS, "failure_reason": STRING},
)
BLOCK_WITH_TX_HASHES: Final = _block(FELT)
BLOCK_WITH_TXS: Final = _block(TRANSACTION_WITH_HASH)
BLOCK_WITH_RECEIPTS: Final = _block(
    record({"transaction": reference("TXN"), "receipt": reference("TXN_RECEIPT")})
)
