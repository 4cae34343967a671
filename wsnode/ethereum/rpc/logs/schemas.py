"""JSON schemas of logs, and of filters and subscriptions."""

from typing import Final

from wsnode.ethereum.rpc.form.parameters import BLOCK_NUMBER
from wsnode.ethereum.rpc.form.schemas import (
    ADDRESS,
    ANY_ADDRESS,
    ANY_HASH,
    ANY_QUANTITY,
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
    members,
    or_null,
    record,
    reference,
    text,
)

_CURSOR: Final = or_null(STRING)
_TOPIC: Final = either(NULL, ANY_HASH, list_of(or_null(ANY_HASH)))
_FILTER: Final[dict[str, Schema]] = {
    "address": either(NULL, ANY_ADDRESS, list_of(ANY_ADDRESS)),
    "topics": {"type": "array", "items": _TOPIC, "maxItems": 4},
    "fromBlock": or_null(BLOCK_NUMBER),
    "toBlock": or_null(BLOCK_NUMBER),
    "blockHash": or_null(ANY_HASH),
}
_PAGE: Final[dict[str, Schema]] = {
    "cursor": _CURSOR,
    "limit": either(NULL, {"type": "integer", "minimum": 1}, ANY_QUANTITY),
}
_SUBSCRIPTION: Final[dict[str, Schema]] = {
    "fromBlock": or_null(BLOCK_NUMBER),
    "cursor": _CURSOR,
    "cursors": BOOLEAN,
    "reorgs": BOOLEAN,
}

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
        members({"transactionHashes": or_null(list_of(ANY_HASH)), **_SUBSCRIPTION}),
    ),
    "PendingOptions": or_null(members({"notices": or_null(BOOLEAN)})),
}
