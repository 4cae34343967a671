"""JSON schemas of what eth_ methods take, for the OpenRPC document."""

from typing import Final

from wsnode.ethereum.primitives.values import Address, Hash32
from wsnode.ethereum.rpc.accounts.modified_accounts import PlainNumber
from wsnode.ethereum.rpc.accounts.proofs import StorageKeys
from wsnode.ethereum.rpc.accounts.storage_ranges import PlainInteger
from wsnode.ethereum.rpc.accounts.storage_values import SlotsByAccount
from wsnode.ethereum.rpc.calls.call_object import CallObject
from wsnode.ethereum.rpc.calls.overrides import BlockOverrides, StateOverrides
from wsnode.ethereum.rpc.calls.simulation import SimulationObject
from wsnode.ethereum.rpc.development.parameters import (
    LenientBytes,
    LenientCount,
    LenientNumber,
    MineOptions,
    PlacedTransaction,
    ReorganisationObject,
    ResetOptions,
)
from wsnode.ethereum.rpc.development.payload_attributes import EncodedTransactions, PayloadAttributes
from wsnode.ethereum.rpc.development.signing import PlainTypedDataDigest, TypedDataDigest
from wsnode.ethereum.rpc.fees.history import BlockCount, Percentiles
from wsnode.ethereum.rpc.form.parameters import (
    TAGS,
    BlockParameter,
    Flag,
    Index,
    NumberOrTag,
    Payload,
    StorageKey,
)
from wsnode.ethereum.rpc.logs.filter_object import LogFilter
from wsnode.ethereum.rpc.logs.pages import PageFilter
from wsnode.ethereum.rpc.logs.subscription_options import SubscriptionId
from wsnode.ethereum.rpc.traces.options import FLAGS, CallTraceOptions, TraceOptions
from wsnode.ethereum.rpc.traces.tracers import MUX, SETTINGS
from wsnode.ethereum.rpc.transactions.inclusion import Milliseconds
from wsnode.jsonrpc.openrpc.schema import (
    BOOLEAN,
    COUNT,
    NULL,
    STRING,
    Schema,
    either,
    list_of,
    mapping_of,
    members,
    or_null,
    reference,
    text,
    tuple_of,
)

HASH: Final = text("0[xX][0-9a-fA-F]{64}")
ADDRESS: Final = text("0[xX][0-9a-fA-F]{40}")
QUANTITY: Final = text("0[xX](0|[1-9a-fA-F][0-9a-fA-F]*)")
BYTES: Final = text("(0[xX]([0-9a-fA-F]{2})*)?")
BLOCK_NUMBER: Final = either({"enum": sorted(TAGS)}, QUANTITY)
LENIENT_NUMBER: Final = either(COUNT, text("[0-9]+"), text("0[xX][0-9a-fA-F]+"))
_STORAGE_KEY: Final = text("(0[xX])?[0-9a-fA-F]{0,64}")
_TOPIC: Final = either(NULL, HASH, list_of(or_null(HASH)))
_CURSOR: Final = or_null(STRING)

_FILTER: Final[dict[str, Schema]] = {
    "address": either(NULL, ADDRESS, list_of(ADDRESS)),
    "topics": {"type": "array", "items": _TOPIC, "maxItems": 4},
    "fromBlock": or_null(BLOCK_NUMBER),
    "toBlock": or_null(BLOCK_NUMBER),
    "blockHash": or_null(HASH),
}
_PAGE: Final[dict[str, Schema]] = {
    "cursor": _CURSOR,
    "limit": either(NULL, {"type": "integer", "minimum": 1}, QUANTITY),
}
_SUBSCRIPTION: Final[dict[str, Schema]] = {
    "fromBlock": or_null(BLOCK_NUMBER),
    "cursor": _CURSOR,
    "cursors": BOOLEAN,
    "reorgs": BOOLEAN,
}

_NUMBERS: Final = (
    *("gas", "gasPrice", "maxFeePerGas", "maxPriorityFeePerGas", "maxFeePerBlobGas"),
    *("value", "nonce", "chainId"),
)
_SIGNATURE: Final = ("chainId", "nonce", "yParity", "r", "s")
_CALL: Final[dict[str, Schema]] = {
    "from": ADDRESS,
    "to": or_null(ADDRESS),
    **dict.fromkeys(_NUMBERS, QUANTITY),
    "input": BYTES,
    "data": BYTES,
    "accessList": list_of(
        members({"address": ADDRESS, "storageKeys": list_of(HASH)}, "address", "storageKeys")
    ),
    "blobVersionedHashes": list_of(HASH),
    "authorizationList": list_of(
        members({"address": ADDRESS, **dict.fromkeys(_SIGNATURE, QUANTITY)}, "address", *_SIGNATURE)
    ),
}
_WITHDRAWAL: Final = members(
    {"address": ADDRESS, **dict.fromkeys(("index", "validatorIndex", "amount"), QUANTITY)}
)

_STATE_OVERRIDES: Final = mapping_of(
    members(
        {
            **dict.fromkeys(("balance", "nonce"), QUANTITY),
            "code": BYTES,
            **dict.fromkeys(("state", "stateDiff"), mapping_of(HASH)),
            "movePrecompileToAddress": ADDRESS,
        }
    )
)
_BLOCK_OVERRIDES: Final = members(
    {
        **dict.fromkeys(
            ("number", "difficulty", "time", "gasLimit", "baseFeePerGas", "blobBaseFee"), QUANTITY
        ),
        "feeRecipient": ADDRESS,
        **dict.fromkeys(("prevRandao", "beaconRoot"), HASH),
        "withdrawals": list_of(_WITHDRAWAL),
    }
)
_SIMULATED: Final = members(
    {
        "blockOverrides": reference("BlockOverrides"),
        "stateOverrides": reference("StateOverrides"),
        "calls": list_of(reference("CallObject")),
    }
)

_TRACERS: Final[dict[str, Schema]] = {
    name: or_null(members(dict.fromkeys(settings, BOOLEAN))) for name, (_, settings) in SETTINGS.items()
}
_TRACE: Final[dict[str, Schema]] = {
    **dict.fromkeys(FLAGS, BOOLEAN),
    "limit": {"type": "integer"},
    "timeout": STRING,
    "tracer": {"enum": [*SETTINGS, MUX]},
    "tracerConfig": either(*_TRACERS.values(), members(_TRACERS)),
}

_TO_PLACE: Final = either(BYTES, members(_CALL))
_PLACED: Final = either(_TO_PLACE, tuple_of([_TO_PLACE, LENIENT_NUMBER]))

_TYPED_DATA: Final = members(
    {
        "types": mapping_of(list_of(members(dict.fromkeys(("name", "type"), STRING), "name", "type"))),
        "primaryType": STRING,
        # Their members are what the types say.
        **dict.fromkeys(("domain", "message"), members({})),
    },
    *("types", "primaryType", "domain", "message"),
)

TYPES: Final[dict[type, Schema]] = {
    Address: ADDRESS,
    Hash32: HASH,
    Payload: BYTES,
    Index: QUANTITY,
    Flag: BOOLEAN,
    StorageKey: _STORAGE_KEY,
    StorageKeys: list_of(_STORAGE_KEY),
    NumberOrTag: BLOCK_NUMBER,
    BlockParameter: either(
        BLOCK_NUMBER,
        HASH,
        members({"blockNumber": BLOCK_NUMBER}, "blockNumber"),
        members({"blockHash": HASH, "requireCanonical": BOOLEAN}, "blockHash"),
    ),
    LogFilter: members(_FILTER),
    SubscriptionId: text("0x[0-9a-f]{32}"),
    PageFilter: members({**_FILTER, **_PAGE}),
    CallObject: members(_CALL),
    StateOverrides: _STATE_OVERRIDES,
    BlockOverrides: _BLOCK_OVERRIDES,
    SimulationObject: members(
        {
            "blockStateCalls": list_of(_SIMULATED),
            **dict.fromkeys(("traceTransfers", "validation", "returnFullTransactions"), BOOLEAN),
        },
        "blockStateCalls",
    ),
    TraceOptions: members(_TRACE),
    CallTraceOptions: members(
        {
            **_TRACE,
            "stateOverrides": reference("StateOverrides"),
            "blockOverrides": reference("BlockOverrides"),
            "txIndex": QUANTITY,
        }
    ),
    BlockCount: either(QUANTITY, {"type": "integer"}),
    Percentiles: or_null(list_of({"type": "number", "minimum": 0, "maximum": 100})),
    SlotsByAccount: mapping_of(list_of(HASH)),
    Milliseconds: COUNT,
    PlainNumber: COUNT,
    PlainInteger: {"type": "integer"},
    LenientBytes: text("(0[xX])?([0-9a-fA-F]{2})*"),
    LenientNumber: LENIENT_NUMBER,
    LenientCount: LENIENT_NUMBER,
    MineOptions: either(
        LENIENT_NUMBER, members(dict.fromkeys(("timestamp", "blocks"), or_null(LENIENT_NUMBER)))
    ),
    ResetOptions: mapping_of(NULL),
    PlacedTransaction: _PLACED,
    ReorganisationObject: members({"depth": LENIENT_NUMBER, "transactions": list_of(_PLACED)}, "depth"),
    **dict.fromkeys((TypedDataDigest, PlainTypedDataDigest), either(STRING, _TYPED_DATA)),
    EncodedTransactions: list_of(BYTES),
    PayloadAttributes: members(
        {
            **dict.fromkeys(("timestamp", "targetGasLimit"), QUANTITY),
            **dict.fromkeys(("prevRandao", "parentBeaconBlockRoot"), HASH),
            "suggestedFeeRecipient": ADDRESS,
            "withdrawals": list_of(_WITHDRAWAL),
        },
        *("timestamp", "prevRandao", "suggestedFeeRecipient"),
    ),
}

COMPONENTS: Final[dict[str, Schema]] = {
    "SubscriptionArgument": either(
        *(NULL, BOOLEAN, members(_SUBSCRIPTION), members({**_FILTER, **_SUBSCRIPTION})),
        members({"transactionHashes": or_null(list_of(HASH)), **_SUBSCRIPTION}),
    ),
    "PendingOptions": or_null(members({"notices": or_null(BOOLEAN)})),
}
"""What parameters refer to by name."""
