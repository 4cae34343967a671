"""JSON schemas of parameters and results that methods of several subjects share."""

from typing import Final

from wsnode.jsonrpc.schema import BOOLEAN, Schema, list_of, or_null, record, reference, text

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
        # Of deposits of the OP stack.
        "sourceHash": HASH,
        **dict.fromkeys(("mint", "depositReceiptVersion"), QUANTITY),
        "isSystemTx": BOOLEAN,
        # Of messages and tickets of Arbitrum.
        **dict.fromkeys(("requestId", "ticketId"), HASH),
        **dict.fromkeys(("refundTo", "beneficiary", "retryTo"), ADDRESS),
        **dict.fromkeys(("maxRefund", "submissionFeeRefund", "l1BaseFee", "depositValue"), QUANTITY),
        **dict.fromkeys(("retryValue", "maxSubmissionFee"), QUANTITY),
        "retryData": BYTES,
    },
)
"""Members of every transaction, and further members of some types."""

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
}
