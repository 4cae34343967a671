"""JSON schemas of receipts and of unsigned transactions."""

from typing import Final

from wsnode.ethereum.rpc.form.schemas import ADDRESS, BYTES, HASH, PLACE, QUANTITY, TIME
from wsnode.jsonrpc.schema import Schema, list_of, or_null, record, reference

RECEIPT: Final = record(
    {
        **PLACE,
        **dict.fromkeys(("cumulativeGasUsed", "effectiveGasPrice", "gasUsed", "type"), QUANTITY),
        "from": ADDRESS,
        "to": or_null(ADDRESS),
        "contractAddress": or_null(ADDRESS),
        "transactionHash": HASH,
        "logs": list_of(reference("Log")),
        "logsBloom": BYTES,
    },
    {**TIME, **dict.fromkeys(("status", "blobGasPrice", "blobGasUsed"), QUANTITY), "root": HASH},
)

COMPONENTS: Final[dict[str, Schema]] = {
    "Receipt": RECEIPT,
    "UnsignedTransaction": record(
        {
            **dict.fromkeys(("type", "nonce", "gas", "value", "v", "r", "s"), QUANTITY),
            **dict.fromkeys(("gasPrice", "maxPriorityFeePerGas", "maxFeePerGas"), or_null(QUANTITY)),
            "to": or_null(ADDRESS),
            "input": BYTES,
            "hash": HASH,
        },
        {
            **dict.fromkeys(("chainId", "yParity"), QUANTITY),
            "accessList": list_of(reference("Access")),
            "authorizationList": list_of(reference("Authorization")),
        },
    ),
}
