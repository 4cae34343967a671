"""JSON schemas of what the ots_ methods take and return."""

from typing import Final

from wsnode.ethereum.rpc.form.parameters import BlockParameter
from wsnode.ethereum.rpc.form.reply_schemas import ADDRESS, BYTES, HASH, QUANTITY, TRANSACTION
from wsnode.ethereum.rpc.form.reply_schemas import COMPONENTS as REPLIES
from wsnode.ethereum.rpc.openrpc.parameters import BLOCK_NUMBER, TYPES
from wsnode.ethereum.rpc.openrpc.parameters import QUANTITY as ANY_QUANTITY
from wsnode.ethereum.rpc.otterscan.blocks import NOT_IN_HEADERS
from wsnode.ethereum.rpc.otterscan.parameters import AnyBlock, AnyBlockNumber, AnyCount
from wsnode.jsonrpc.openrpc.schema import (
    BOOLEAN,
    COUNT,
    NULL,
    Schema,
    either,
    list_of,
    or_null,
    record,
)

_BLOCK: Final = REPLIES["Block"]
_RECEIPT: Final = REPLIES["Receipt"]
_KINDS: Final = ("CALL", "CALLCODE", "DELEGATECALL", "STATICCALL", "CREATE", "CREATE2", "SELFDESTRUCT")


def _like(schema: Schema, changed: dict[str, Schema], *left_out: str) -> Schema:
    """Return an object's schema with other members in addition or instead."""
    properties = {**schema["properties"], **changed}
    required = [*schema["required"], *(name for name in changed if name not in schema["required"])]
    return {
        **schema,
        "properties": {name: member for name, member in properties.items() if name not in left_out},
        "required": [name for name in required if name not in left_out],
    }


_SHORT: Final[dict[str, Schema]] = {"transactionCount": COUNT, "logsBloom": NULL}
_DETAILS: Final = or_null(
    record(
        {
            "block": _like(_BLOCK, _SHORT, "transactions"),
            "issuance": record(dict.fromkeys(("blockReward", "uncleReward", "issuance"), QUANTITY)),
            "totalFees": QUANTITY,
        }
    )
)
_HEADER: Final = _like(_BLOCK, {}, *NOT_IN_HEADERS, "totalDifficulty")
_TIMED: Final = _like(_RECEIPT, {"timestamp": COUNT})
_PAGE: Final = record(
    {
        "txs": list_of(TRANSACTION),
        "receipts": list_of(_TIMED),
        **dict.fromkeys(("firstPage", "lastPage"), BOOLEAN),
    }
)

RESULTS: Final[dict[str, Schema]] = {
    "ots_getApiLevel": COUNT,
    "ots_hasCode": BOOLEAN,
    "ots_getInternalOperations": list_of(
        record(
            {
                "type": {"enum": [0, 1, 2, 3]},
                **dict.fromkeys(("from", "to"), ADDRESS),
                "value": QUANTITY,
            }
        )
    ),
    "ots_traceTransaction": list_of(
        record(
            {
                "type": {"enum": list(_KINDS)},
                "depth": COUNT,
                **dict.fromkeys(("from", "to"), ADDRESS),
                "value": or_null(QUANTITY),
                **dict.fromkeys(("input", "output"), BYTES),
            }
        )
    ),
    "ots_getTransactionError": BYTES,
    **dict.fromkeys(("ots_getBlockDetails", "ots_getBlockDetailsByHash"), _DETAILS),
    "ots_getBlockTransactions": or_null(
        record(
            {
                "fullblock": _like(_BLOCK, _SHORT),
                "receipts": list_of(_like(_TIMED, dict.fromkeys(("logs", "logsBloom"), NULL))),
            }
        )
    ),
    **dict.fromkeys(("ots_searchTransactionsBefore", "ots_searchTransactionsAfter"), _PAGE),
    "ots_getTransactionBySenderAndNonce": or_null(HASH),
    "eth_getTransactionBySenderAndNonce": or_null(TRANSACTION),
    "ots_getContractCreator": or_null(record({"hash": HASH, "creator": ADDRESS})),
    "erigon_getHeaderByNumber": or_null(_HEADER),
}

TAKEN: Final[dict[type, Schema]] = {
    AnyCount: either(COUNT, ANY_QUANTITY),
    AnyBlockNumber: either(COUNT, BLOCK_NUMBER),
    AnyBlock: either(COUNT, TYPES[BlockParameter]),
}
