"""JSON schemas of calls, overrides and simulations."""

from typing import Final

from wsnode.ethereum.rpc.common.schemas import (
    ANY_ADDRESS,
    ANY_BYTES,
    ANY_HASH,
    ANY_QUANTITY,
    BYTES,
    HEADER,
    LATER,
    QUANTITY,
    TRANSACTIONS,
)
from wsnode.jsonrpc.schema import (
    BOOLEAN,
    STRING,
    Schema,
    list_of,
    mapping_of,
    members,
    record,
    reference,
)

MAX_ACCOUNTS: Final = 2_000
"""Accounts that the calls of one request override: 10 us each."""
MAX_SLOTS: Final = 20_000
"""Slots that they override: 2 to 8 us each."""
MAX_WITHDRAWALS: Final = 1_024
MAX_BLOCKS: Final = 256
"""Blocks of a simulation, as in geth."""
MAX_CALLS: Final = 5_000
"""Calls of a simulated block, as in geth."""
MAX_CALLS_OF_ALL: Final = 10_000
"""Calls of a simulation, as in geth."""

STATE_OVERRIDES: Final = mapping_of(
    members(
        {
            **dict.fromkeys(("balance", "nonce"), ANY_QUANTITY),
            "code": ANY_BYTES,
            **dict.fromkeys(("state", "stateDiff"), mapping_of(ANY_HASH, most=MAX_SLOTS)),
            "movePrecompileToAddress": ANY_ADDRESS,
        }
    ),
    most=MAX_ACCOUNTS,
)
WITHDRAWAL: Final = members(
    {"address": ANY_ADDRESS, **dict.fromkeys(("index", "validatorIndex", "amount"), ANY_QUANTITY)}
)
BLOCK_OVERRIDES: Final = members(
    {
        **dict.fromkeys(
            ("number", "difficulty", "time", "gasLimit", "baseFeePerGas", "blobBaseFee"), ANY_QUANTITY
        ),
        "feeRecipient": ANY_ADDRESS,
        **dict.fromkeys(("prevRandao", "beaconRoot"), ANY_HASH),
        "withdrawals": list_of(WITHDRAWAL, most=MAX_WITHDRAWALS),
    }
)
_SIMULATED: Final = members(
    {
        "blockOverrides": reference("BlockOverrides"),
        "stateOverrides": reference("StateOverrides"),
        "calls": list_of(reference("CallObject"), most=MAX_CALLS),
    }
)
SIMULATION: Final = members(
    {
        "blockStateCalls": list_of(_SIMULATED, most=MAX_BLOCKS),
        **dict.fromkeys(("traceTransfers", "validation", "returnFullTransactions"), BOOLEAN),
    },
    "blockStateCalls",
)

COMPONENTS: Final[dict[str, Schema]] = {
    "SimulatedBlock": record(
        {**HEADER, "transactions": TRANSACTIONS, "calls": list_of(reference("SimulatedCall"))}, LATER
    ),
    "SimulatedCall": record(
        {
            **dict.fromkeys(("gasUsed", "maxUsedGas", "status"), QUANTITY),
            "returnData": BYTES,
            "logs": list_of(reference("Log")),
        },
        {"error": record({"code": {"type": "integer"}, "message": STRING}, {"data": BYTES})},
    ),
}
