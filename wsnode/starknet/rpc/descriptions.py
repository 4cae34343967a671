"""What the alt family's methods take, return and refuse, under starknet-specs' names."""

from typing import Final

from wsnode.jsonrpc.errors import METHOD_NOT_FOUND
from wsnode.jsonrpc.openrpc.document import Descriptions, described_error
from wsnode.jsonrpc.openrpc.schema import (
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
from wsnode.starknet.block_id import BlockId
from wsnode.starknet.felt import Felt
from wsnode.starknet.rpc import errors
from wsnode.starknet.rpc.subscriptions import FirstBlock

FELT: Final = reference("FELT")
HEX: Final = text("0x[0-9a-f]+")
_WRITTEN_FELT: Final = text("0[xX][0-9a-fA-F]{1,64}")
_NUMBERED: Final = members({"block_number": COUNT}, "block_number")
_HASHED: Final = members({"block_hash": _WRITTEN_FELT}, "block_hash")
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


def _update(diff: str) -> Schema:
    changed: dict[str, Schema] = {"old_root": FELT, "state_diff": reference(diff)}
    return either(
        record({**dict.fromkeys(("block_hash", "new_root"), FELT), **changed}),
        # The block that is being built has neither a hash nor a root.
        record(changed),
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
_CLASS: Final = either(reference("CONTRACT_CLASS"), reference("DEPRECATED_CONTRACT_CLASS"))

_RESULTS: Final[dict[str, Schema]] = {
    **dict.fromkeys(("getClassAt", "getClass"), _CLASS),
    **dict.fromkeys(("getClassHashAt", "getNonce"), FELT),
    "getStorageAt": either(FELT, record({"value": FELT, "last_update_block": COUNT})),
    "blockNumber": COUNT,
    "blockHashAndNumber": record({"block_hash": FELT, "block_number": COUNT}),
    "chainId": HEX,
    "specVersion": STRING,
    "syncing": {"const": False},
    "subscribeNewHeads": text("0x[0-9a-f]{32}"),
    "unsubscribe": {"const": True},
}

_BLOCK: Final = errors.block_not_found()
_CONTRACT: Final = errors.contract_not_found()
_ERRORS: Final = {
    **dict.fromkeys(("getClassAt", "getClassHashAt", "getStorageAt", "getNonce"), (_BLOCK, _CONTRACT)),
    "getClass": (_BLOCK, errors.class_hash_not_found()),
    "getStateUpdate": (_BLOCK,),
    **dict.fromkeys(("blockNumber", "blockHashAndNumber"), (errors.no_blocks(),)),
    "chainId": (errors.chain_id_unknown(),),
    "subscribeNewHeads": (_BLOCK, errors.too_many_blocks_back()),
    "unsubscribe": (errors.invalid_subscription_id(),),
}
_OVER_HTTP: Final = described_error(METHOD_NOT_FOUND, "notifications not supported")


def _listed(method: str) -> tuple[Schema, ...]:
    listed = tuple(described_error(error.code, error.message) for error in _ERRORS[method])
    return (*listed, _OVER_HTTP) if method in {"subscribeNewHeads", "unsubscribe"} else listed


DESCRIPTIONS: Final = Descriptions(
    types={
        Felt: _WRITTEN_FELT,
        BlockId: either(_NUMBERED, _HASHED, {"enum": ["latest", "pending", "pre_confirmed"]}),
        FirstBlock: either(_NUMBERED, _HASHED, {"enum": ["latest"]}),
    },
    components=COMPONENTS,
    results={
        "alt_getStateUpdate": _update("FLAT_STATE_DIFF"),
        "starknet_getStateUpdate": _update("STATE_DIFF"),
        **{f"{family}_{name}": schema for name, schema in _RESULTS.items() for family in ("alt", "starknet")},
    },
    errors={f"{family}_{name}": _listed(name) for name in _ERRORS for family in ("alt", "starknet")},
)
