"""JSON schemas of blocks, uncles and headers."""

from typing import Final

from wsnode.ethereum.rpc.common.schemas import ADDRESS, BYTES, HASH, QUANTITY, TRANSACTION
from wsnode.jsonrpc.schema import Schema, either, list_of, or_null, record, reference

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
    # Of blocks of Arbitrum.
    **dict.fromkeys(("l1BlockNumber", "sendCount"), QUANTITY),
    "sendRoot": HASH,
}
"""Members that only some forks or forms have."""
TRANSACTIONS: Final = list_of(either(HASH, TRANSACTION))
SHOWN_HEADER: Final = {name: schema for name, schema in HEADER.items() if name not in {"size", "uncles"}}
"""Members of headers that come without a block."""
BLOCK: Final = record({**HEADER, "transactions": TRANSACTIONS}, LATER)

COMPONENTS: Final[dict[str, Schema]] = {
    "Block": BLOCK,
    "Header": record(SHOWN_HEADER, LATER_HEADER | OWN_HEADER),
    "Uncle": record(HEADER, LATER),
}
