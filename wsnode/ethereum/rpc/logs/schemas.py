"""JSON schemas of logs, and of filters and subscriptions."""

from typing import Final

from wsnode.ethereum.rpc.common.limits import MAX_LIVE, MAX_VALUES
from wsnode.ethereum.rpc.common.parameters import BLOCK_NUMBER
from wsnode.ethereum.rpc.common.schemas import (
    ADDRESS,
    ANY_ADDRESS,
    ANY_HASH,
    ANY_QUANTITY,
    ANY_STORAGE_KEY,
    BYTES,
    HASH,
    PLACE,
    QUANTITY,
    TIME,
    TRANSACTION,
)
from wsnode.jsonrpc.schema import (
    BOOLEAN,
    NULL,
    STRING,
    Schema,
    either,
    list_of,
    mapping_of,
    members,
    or_null,
    record,
    reference,
    text,
)

MAX_HASHES: Final = 200
"""Transactions that one subscription to receipts may name, as in geth."""
MAX_ADDRESSES: Final = 1_000
"""Addresses that one filter of pending transactions may name, and pairs of one filter of mined ones."""
_CURSOR: Final = or_null(STRING)
_TOPIC: Final = either(NULL, ANY_HASH, list_of(or_null(ANY_HASH), most=MAX_VALUES))
_FILTER: Final[dict[str, Schema]] = {
    "address": either(NULL, ANY_ADDRESS, list_of(ANY_ADDRESS, most=MAX_VALUES)),
    "topics": {"type": "array", "items": _TOPIC, "maxItems": 4},
    "fromBlock": or_null(BLOCK_NUMBER),
    "toBlock": or_null(BLOCK_NUMBER),
    "blockHash": or_null(ANY_HASH),
}
_PAGE: Final[dict[str, Schema]] = {
    "cursor": _CURSOR,
    "limit": either(NULL, {"type": "integer", "minimum": 1}, ANY_QUANTITY),
}
_FORM: Final[dict[str, Schema]] = {"cursor": _CURSOR, "cursors": BOOLEAN, "reorgs": BOOLEAN}
_SUBSCRIPTION: Final[dict[str, Schema]] = {"fromBlock": or_null(BLOCK_NUMBER), **_FORM}

_SOME: Final = either(NULL, ANY_ADDRESS, list_of(ANY_ADDRESS, most=MAX_ADDRESSES))
_PENDING: Final[dict[str, Schema]] = {"fromAddress": _SOME, "toAddress": _SOME}
_STATE: Final[dict[str, Schema]] = {
    "accounts": or_null(list_of(ANY_ADDRESS, most=MAX_LIVE)),
    "slots": or_null(mapping_of(list_of(ANY_STORAGE_KEY, most=MAX_LIVE), most=MAX_LIVE)),
}
_PAIR: Final = members({"from": or_null(ANY_ADDRESS), "to": or_null(ANY_ADDRESS)})


def _only(known: dict[str, Schema]) -> Schema:
    """Return the schema of an object that has no members of other names."""
    return {**members(known), "additionalProperties": False}


SELECTION: Final = _only(_PENDING)
FILTER: Final = members(_FILTER)
PAGE_FILTER: Final = members({**_FILTER, **_PAGE})
IDENTITY: Final = text("0x[0-9a-f]{32}")
"""The id of a filter or a subscription."""
LOGS: Final = list_of(reference("Log"))
CHANGES: Final = either(LOGS, list_of(HASH), list_of(TRANSACTION))
PAGE: Final = record(
    {
        "logs": LOGS,
        "cursor": or_null(STRING),
        "block": record({"number": QUANTITY, "hash": HASH}),
    }
)

COMPONENTS: Final[dict[str, Schema]] = {
    "Log": record(
        {
            **PLACE,
            "logIndex": or_null(QUANTITY),
            "transactionHash": or_null(HASH),
            "address": ADDRESS,
            "topics": list_of(HASH),
            "data": BYTES,
            "removed": BOOLEAN,
        },
        TIME,
    ),
    "SubscriptionArgument": either(
        *(NULL, BOOLEAN, members(_SUBSCRIPTION), members({**_FILTER, **_SUBSCRIPTION})),
        members({"transactionHashes": or_null(list_of(ANY_HASH, most=MAX_HASHES)), **_SUBSCRIPTION}),
        _only({"transactions": BOOLEAN, "receipts": BOOLEAN, **_FORM}),
        _only({**_STATE, **_FORM}),
        _only({"calls": list_of(reference("CallObject"), most=MAX_LIVE), **_FORM}),
        _only({**_PENDING, "hashesOnly": BOOLEAN}),
        _only(
            {
                "addresses": or_null(list_of(_PAIR, most=MAX_ADDRESSES)),
                "includeRemoved": BOOLEAN,
                "hashesOnly": BOOLEAN,
            }
        ),
    ),
    "PendingOptions": or_null(_only({**_PENDING, "notices": or_null(BOOLEAN)})),
}
