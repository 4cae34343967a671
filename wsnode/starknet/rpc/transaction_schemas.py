"""JSON schemas of blocks, transactions and receipts in results, under starknet-specs' names."""

from typing import Final

from wsnode.jsonrpc.schema import COUNT, STRING, Schema, either, list_of, record, reference
from wsnode.starknet.body import TRANSACTION_MEMBERS, WITH_PROOF_FACTS

FELT: Final = reference("FELT")
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
