"""JSON schemas of receipts and of unsigned transactions."""

from typing import Final

from wsnode.ethereum.rpc.common.schemas import ADDRESS, BYTES, HASH, PLACE, QUANTITY, TIME
from wsnode.jsonrpc.schema import Schema, list_of, or_null, record, reference, text

_OP_STACK: Final = (
    *("depositNonce", "depositReceiptVersion", "l1Fee", "l1GasPrice", "l1GasUsed", "l1BlobBaseFee"),
    *("l1BaseFeeScalar", "l1BlobBaseFeeScalar", "operatorFeeScalar", "operatorFeeConstant"),
    "daFootprintGasScalar",
)
DECIMAL: Final[Schema] = text(r"[0-9]+(\.[0-9]+)?")
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
    {
        **TIME,
        **dict.fromkeys(("status", "blobGasPrice", "blobGasUsed"), QUANTITY),
        "root": HASH,
        **dict.fromkeys(_OP_STACK, QUANTITY),
        "l1FeeScalar": DECIMAL,
        # Of Arbitrum.
        "l1BlockNumber": QUANTITY,
    },
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
