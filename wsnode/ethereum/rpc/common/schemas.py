"""JSON schemas of parameters and results that methods of several subjects share."""

from typing import Final

from wsnode.jsonrpc.schema import BOOLEAN, Schema, either, list_of, or_null, record, reference, text

ANY_HASH: Final = text("0[xX][0-9a-fA-F]{64}")
ANY_ADDRESS: Final = text("0[xX][0-9a-fA-F]{40}")
ANY_QUANTITY: Final = text("0[xX](0|[1-9a-fA-F][0-9a-fA-F]*)")
ANY_BYTES: Final = text("(0[xX]([0-9a-fA-F]{2})*)?")
ANY_STORAGE_KEY: Final = text("(0[xX])?[0-9a-fA-F]{0,64}")
"""Parameters may have upper case, results have none."""

QUANTITY: Final = reference("Quantity")
BYTES: Final = reference("Bytes")
HASH: Final = reference("Hash")
ADDRESS: Final = reference("AccountAddress")
TRANSACTION: Final = reference("Transaction")

PLACE: Final[dict[str, Schema]] = {
    "blockHash": or_null(HASH),
    "blockNumber": or_null(QUANTITY),
    "transactionIndex": or_null(QUANTITY),
}
TIME: Final[dict[str, Schema]] = {"blockTimestamp": or_null(QUANTITY)}
TRANSACTION_MEMBERS: Final[tuple[dict[str, Schema], dict[str, Schema]]] = (
    {
        **PLACE,
        **dict.fromkeys(("gas", "gasPrice", "nonce", "r", "s", "type", "v", "value"), QUANTITY),
        "from": ADDRESS,
        "to": or_null(ADDRESS),
        "hash": HASH,
        "input": BYTES,
    },
    {
        **TIME,
        **dict.fromkeys(("chainId", "maxFeePerBlobGas", "maxFeePerGas"), QUANTITY),
        **dict.fromkeys(("maxPriorityFeePerGas", "yParity"), QUANTITY),
        "accessList": list_of(reference("Access")),
        "authorizationList": list_of(reference("Authorization")),
        "blobVersionedHashes": list_of(HASH),
        # Members of the OP stack's deposits.
        "sourceHash": HASH,
        **dict.fromkeys(("mint", "depositReceiptVersion"), QUANTITY),
        "isSystemTx": BOOLEAN,
        # Members of Arbitrum's messages and tickets.
        **dict.fromkeys(("requestId", "ticketId"), HASH),
        **dict.fromkeys(("refundTo", "beneficiary", "retryTo"), ADDRESS),
        **dict.fromkeys(("maxRefund", "submissionFeeRefund", "l1BaseFee", "depositValue"), QUANTITY),
        **dict.fromkeys(("retryValue", "maxSubmissionFee"), QUANTITY),
        "retryData": BYTES,
    },
)
"""Members of every transaction, and further members of some types."""

_QUANTITIES: Final = ("baseFeePerGas", "blobGasUsed", "excessBlobGas", "slotNumber")
_HASHES: Final = ("blockAccessListHash", "parentBeaconBlockRoot", "requestsHash", "withdrawalsRoot")
HEADER: Final[dict[str, Schema]] = {
    **dict.fromkeys(("difficulty", "gasLimit", "gasUsed", "size", "timestamp"), QUANTITY),
    **dict.fromkeys(("mixHash", "parentHash", "receiptsRoot", "sha3Uncles"), HASH),
    **dict.fromkeys(("stateRoot", "transactionsRoot"), HASH),
    **dict.fromkeys(("logsBloom", "nonce"), or_null(BYTES)),
    "extraData": BYTES,
    "hash": or_null(HASH),
    "miner": or_null(ADDRESS),
    "number": or_null(QUANTITY),
    "uncles": list_of(HASH),
}
"""Members of every block, without its transactions."""
LATER_HEADER: Final[dict[str, Schema]] = {
    **dict.fromkeys(_QUANTITIES, QUANTITY),
    **dict.fromkeys(_HASHES, HASH),
}
OWN_HEADER: Final[dict[str, Schema]] = {"milliTimestamp": QUANTITY}
"""Members of headers of one chain: BNB Smart Chain."""
LATER: Final[dict[str, Schema]] = {
    **LATER_HEADER,
    **OWN_HEADER,
    "totalDifficulty": or_null(QUANTITY),
    "withdrawals": list_of(reference("Withdrawal")),
    # Members of Arbitrum's blocks.
    **dict.fromkeys(("l1BlockNumber", "sendCount"), QUANTITY),
    "sendRoot": HASH,
}
"""Members that only some forks or forms have."""
TRANSACTIONS: Final = list_of(either(HASH, TRANSACTION))
SHOWN_HEADER: Final = {name: schema for name, schema in HEADER.items() if name not in {"size", "uncles"}}
"""Members of headers that come without a block."""
BLOCK: Final = record({**HEADER, "transactions": TRANSACTIONS}, LATER)

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
        # Only receipts of Arbitrum have this member.
        "l1BlockNumber": QUANTITY,
    },
)

COMPONENTS: Final[dict[str, Schema]] = {
    "Quantity": text("0x(0|[1-9a-f][0-9a-f]*)"),
    "Bytes": text("0x([0-9a-f]{2})*"),
    "Hash": text("0x[0-9a-f]{64}"),
    "AccountAddress": text("0x[0-9a-f]{40}"),
    "Withdrawal": record(
        {**dict.fromkeys(("index", "validatorIndex", "amount"), QUANTITY), "address": ADDRESS}
    ),
    "Access": record({"address": ADDRESS, "storageKeys": list_of(HASH)}),
    "Authorization": record(
        {**dict.fromkeys(("chainId", "nonce", "yParity", "r", "s"), QUANTITY), "address": ADDRESS}
    ),
    "Transaction": record(*TRANSACTION_MEMBERS),
    "Block": BLOCK,
    "Header": record(SHOWN_HEADER, LATER_HEADER | OWN_HEADER),
    "Uncle": record(HEADER, LATER),
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
