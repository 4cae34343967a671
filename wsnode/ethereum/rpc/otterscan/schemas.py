"""JSON schemas of the ots_ methods' results."""

from typing import Final

from wsnode.ethereum.rpc.common.schemas import ADDRESS, BLOCK, BYTES, HASH, QUANTITY, RECEIPT, TRANSACTION
from wsnode.jsonrpc.schema import (
    BOOLEAN,
    COUNT,
    NULL,
    Schema,
    list_of,
    or_null,
    record,
)

NOT_IN_HEADERS: Final = ("transactions", "uncles", "withdrawals", "size")
_KINDS: Final = ("CALL", "CALLCODE", "DELEGATECALL", "STATICCALL", "CREATE", "CREATE2", "SELFDESTRUCT")


def _like(schema: Schema, changed: dict[str, Schema], *left_out: str) -> Schema:
    """Return an object's schema with members added or replaced."""
    properties = {**schema["properties"], **changed}
    required = [*schema["required"], *(name for name in changed if name not in schema["required"])]
    return {
        **schema,
        "properties": {name: member for name, member in properties.items() if name not in left_out},
        "required": [name for name in required if name not in left_out],
    }


_SHORT: Final[dict[str, Schema]] = {"transactionCount": COUNT, "logsBloom": NULL}
DETAILS: Final = or_null(
    record(
        {
            "block": _like(BLOCK, _SHORT, "transactions"),
            "issuance": record(dict.fromkeys(("blockReward", "uncleReward", "issuance"), QUANTITY)),
            "totalFees": QUANTITY,
        }
    )
)
HEADER: Final = _like(BLOCK, {}, *NOT_IN_HEADERS, "totalDifficulty")
_TIMED: Final = _like(RECEIPT, {"timestamp": COUNT})
PAGE: Final = record(
    {
        "txs": list_of(TRANSACTION),
        "receipts": list_of(_TIMED),
        **dict.fromkeys(("firstPage", "lastPage"), BOOLEAN),
    }
)

OPERATIONS: Final = list_of(
    record(
        {
            "type": {"enum": [0, 1, 2, 3]},
            **dict.fromkeys(("from", "to"), ADDRESS),
            "value": QUANTITY,
        }
    )
)
CALLS: Final = list_of(
    record(
        {
            "type": {"enum": list(_KINDS)},
            "depth": COUNT,
            **dict.fromkeys(("from", "to"), ADDRESS),
            "value": or_null(QUANTITY),
            **dict.fromkeys(("input", "output"), BYTES),
        }
    )
)
FULL_BLOCK: Final = or_null(
    record(
        {
            "fullblock": _like(BLOCK, _SHORT),
            "receipts": list_of(_like(_TIMED, dict.fromkeys(("logs", "logsBloom"), NULL))),
        }
    )
)
CREATOR: Final = or_null(record({"hash": HASH, "creator": ADDRESS}))
