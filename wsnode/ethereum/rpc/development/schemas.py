"""What the methods of development chains return, by method, for the OpenRPC document."""

from typing import Final

from wsnode.ethereum.rpc.form.reply_schemas import ADDRESS, BYTES, HASH, QUANTITY
from wsnode.jsonrpc.openrpc.schema import (
    BOOLEAN,
    COUNT,
    NULL,
    STRING,
    Schema,
    list_of,
    mapping_of,
    or_null,
    record,
    reference,
    text,
    tuple_of,
)

_TRUE: Final[Schema] = {"const": True}
_SIGNATURE: Final = text("0x[0-9a-f]{130}")
_HEAD: Final = record({"number": QUANTITY, "hash": HASH})
_METADATA: Final = record(
    {
        "clientVersion": STRING,
        **dict.fromkeys(("chainId", "latestBlockNumber"), COUNT),
        **dict.fromkeys(("instanceId", "latestBlockHash"), HASH),
        "forkedNetwork": NULL,
        "snapshots": mapping_of(tuple_of([COUNT, HASH]), "0x[0-9a-f]+"),
    }
)

_SETTINGS: Final = record(
    {
        "currentBlockNumber": QUANTITY,
        "currentBlockTimestamp": COUNT,
        "currentBlockHash": HASH,
        **dict.fromkeys(("hardFork", "transactionOrder"), STRING),
        "environment": record(
            {**dict.fromkeys(("baseFee", "gasLimit", "gasPrice"), QUANTITY), "chainId": COUNT}
        ),
        "forkConfig": record(dict.fromkeys(("forkUrl", "forkBlockNumber", "forkRetryBackoff"), NULL)),
    }
)

_DONE: Final = (
    *("setBalance", "setNonce", "setCode", "setCoinbase", "impersonateAccount"),
    *("autoImpersonateAccount", "dropAllTransactions", "mine", "reset"),
    *("setNextBlockBaseFeePerGas", "setLoggingEnabled"),
)
_BY_ALL_NAMES: Final[dict[str, Schema]] = {
    "setAutomine": NULL,
    "setIntervalMining": NULL,
    "snapshot": QUANTITY,
    "revert": BOOLEAN,
    "increaseTime": {"type": "integer"},
    "setNextBlockTimestamp": NULL,
    "setTime": COUNT,
}

RESULTS: Final[dict[str, Schema]] = {
    "eth_coinbase": ADDRESS,
    **dict.fromkeys(("eth_sendTransaction", "eth_sendUnsignedTransaction"), HASH),
    "eth_signTransaction": BYTES,
    "eth_requestAccounts": list_of(ADDRESS),
    "eth_sendTransactionSync": reference("Receipt"),
    **dict.fromkeys(("eth_sign", "personal_sign"), _SIGNATURE),
    **dict.fromkeys(("eth_signTypedData", "eth_signTypedData_v3", "eth_signTypedData_v4"), _SIGNATURE),
    **{f"{prefix}_{name}": schema for name, schema in _BY_ALL_NAMES.items() for prefix in ("evm", "anvil")},
    **{f"anvil_{name}": NULL for name in _DONE},
    **{f"hardhat_{name}": _TRUE for name in _DONE},
    "evm_mine": QUANTITY,
    **dict.fromkeys(("evm_mine_detailed", "anvil_mine_detailed"), list_of(or_null(reference("MinedBlock")))),
    **dict.fromkeys(("anvil_setChainId", "anvil_setERC20Allowance"), NULL),
    **dict.fromkeys(("anvil_dealERC20", "hardhat_dealERC20", "anvil_setERC20Balance"), NULL),
    "evm_setAccountNonce": NULL,
    **dict.fromkeys(("anvil_getAutomine", "hardhat_getAutomine"), BOOLEAN),
    "anvil_getIntervalMining": or_null({"type": "number"}),
    "anvil_setBlockTimestampInterval": NULL,
    "anvil_removeBlockTimestampInterval": BOOLEAN,
    **dict.fromkeys(("anvil_setStorageAt", "hardhat_setStorageAt"), _TRUE),
    "anvil_stopImpersonatingAccount": NULL,
    "hardhat_stopImpersonatingAccount": BOOLEAN,
    "anvil_dropTransaction": or_null(HASH),
    "hardhat_dropTransaction": BOOLEAN,
    **dict.fromkeys(("anvil_metadata", "hardhat_metadata"), _METADATA),
    "anvil_nodeInfo": _SETTINGS,
    **dict.fromkeys(("anvil_dumpState", "hardhat_dumpState"), BYTES),
    **dict.fromkeys(("anvil_loadState", "hardhat_loadState"), _TRUE),
    **dict.fromkeys(("evm_setBlockGasLimit", "anvil_setBlockGasLimit", "hardhat_setPrevRandao"), _TRUE),
    **dict.fromkeys(("anvil_addBalance", "anvil_removePoolTransactions", "anvil_rollback"), NULL),
    **dict.fromkeys(("hardhat_addBalance", "tenderly_addBalance", "tenderly_setBalance"), NULL),
    "anvil_reorg": NULL,
    "wsnode_reorg": record(
        {"commonAncestor": _HEAD, **dict.fromkeys(("dropped", "added"), list_of(_HEAD))},
        {"refused": list_of(record({"index": COUNT, "reason": STRING}))},
    ),
}
