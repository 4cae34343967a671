"""Errors of starknet-specs, and errors of a node with a partial history."""

from typing import Any, Final

from wsnode.jsonrpc.errors import INTERNAL_ERROR, SERVER_ERROR, RpcError, invalid_params
from wsnode.starknet.felt import felt_text

# Codes of errors in starknet_api_openrpc.json and starknet_ws_api.json of starknet-specs.
CONTRACT_NOT_FOUND: Final = 20
"""starknet-specs."""
BLOCK_NOT_FOUND: Final = 24
"""starknet-specs."""
INVALID_TRANSACTION_INDEX: Final = 27
"""starknet-specs."""
CLASS_HASH_NOT_FOUND: Final = 28
"""starknet-specs."""
TRANSACTION_HASH_NOT_FOUND: Final = 29
"""starknet-specs. No stored block has the transaction."""
PAGE_SIZE_TOO_BIG: Final = 31
"""starknet-specs."""
NO_BLOCKS: Final = 32
"""starknet-specs. The chain is empty."""
INVALID_CONTINUATION_TOKEN: Final = 33
"""starknet-specs. The token is malformed, or its block has left the chain."""
TOO_MANY_KEYS: Final = 34
"""starknet-specs. A filter of events names too many keys."""
PROOF_TOO_OLD: Final = 42
"""starknet-specs. The block is more than 128 below the head."""
INVALID_SUBSCRIPTION_ID: Final = 66
"""starknet-specs."""
TOO_MANY_SENDERS: Final = 67
"""starknet-specs. A subscription names up to 1,024."""
TOO_MANY_BLOCKS_BACK: Final = 68
"""starknet-specs. A subscription may begin 1,024 blocks below the head."""


def needs_newer_version(name: str) -> RpcError:
    """Return the error for a parameter that the version of the path does not have."""
    return invalid_params(
        "Invalid params",
        {
            "reason": f"{name} needs version 0.10 of the RPC specification; this path (v0_9) has 0.9, "
            "use v0_10"
        },
    )


def no_l1_head() -> RpcError:
    """Return the error for the tag `l1_accepted` on a chain that follows no others."""
    reason = "the block tag l1_accepted is not available: this node follows no L1 head"
    return invalid_params("Invalid params", {"reason": reason})


def contract_not_found() -> RpcError:
    """Return the error for an address where nothing is deployed."""
    return RpcError(CONTRACT_NOT_FOUND, "Contract not found")


def block_not_found() -> RpcError:
    """Return the error for a block that is not part of the chain."""
    return RpcError(BLOCK_NOT_FOUND, "Block not found")


def class_hash_not_found() -> RpcError:
    """Return the error for a class that no block up to the requested one names."""
    return RpcError(CLASS_HASH_NOT_FOUND, "Class hash not found")


def invalid_transaction_index() -> RpcError:
    """Return the error for an index beyond the last transaction of a block."""
    return RpcError(INVALID_TRANSACTION_INDEX, "Invalid transaction index in a block")


def transaction_hash_not_found() -> RpcError:
    """Return the error for a transaction that no stored block has."""
    return RpcError(TRANSACTION_HASH_NOT_FOUND, "Transaction hash not found")


def transactions_unavailable(number: int) -> RpcError:
    """Return the error for a block stored without transactions: its source had none, or unproved ones."""
    message = "the block was imported without its transactions"
    return RpcError(SERVER_ERROR, message, {"block_number": number})


def page_size_too_big() -> RpcError:
    """Return the error for a page of more events than one may have."""
    return RpcError(PAGE_SIZE_TOO_BIG, "Requested page size is too big")


def invalid_continuation_token(block: dict[str, Any] | None = None) -> RpcError:
    """Return the error for a malformed token or, with `block`, for one of a block that left the chain."""
    message = "The supplied continuation token is invalid or unknown"
    return RpcError(INVALID_CONTINUATION_TOKEN, message, block)


def too_many_keys() -> RpcError:
    """Return the error for a filter of events with too many keys."""
    return RpcError(TOO_MANY_KEYS, "Too many keys provided in a filter")


def no_blocks() -> RpcError:
    """Return the error for an empty chain."""
    return RpcError(NO_BLOCKS, "There are no blocks")


def proof_too_old() -> RpcError:
    """Return the error for a proof of a block too far below the head."""
    message = "the node doesn't support storage proofs for blocks that are too far in the past"
    return RpcError(PROOF_TOO_OLD, message)


def unprovable_state(reason: str) -> RpcError:
    """Return the error for a state that this node has no tries of."""
    return RpcError(SERVER_ERROR, f"the state cannot be proved: {reason}")


def invalid_subscription_id() -> RpcError:
    """Return the error for an id that names no subscription of the connection."""
    return RpcError(INVALID_SUBSCRIPTION_ID, "Invalid subscription id")


def too_many_senders() -> RpcError:
    """Return the error for a subscription that names too many senders."""
    return RpcError(TOO_MANY_SENDERS, "Too many addresses in filter sender_address filter")


def too_many_blocks_back() -> RpcError:
    """Return the error for a subscription that begins too early."""
    return RpcError(TOO_MANY_BLOCKS_BACK, "Cannot go back more than 1024 blocks")


def history_unavailable(first_block: int) -> RpcError:
    """Return the error for results that depend on blocks below the first stored one."""
    message = f"history is not available below block {first_block}"
    return RpcError(SERVER_ERROR, message, {"first_block": first_block})


def unproved_state(number: int, first_block: int, tried: int) -> RpcError:
    """Return the error for a value written by no stored block and proved by no upstream."""
    message = f"no upstream proves the state of block {number}"
    return RpcError(SERVER_ERROR, message, {"first_block": first_block, "tried": tried})


def class_unavailable(class_hash: bytes) -> RpcError:
    """Return the error for a class whose definition no source had."""
    message = "the definition of the class is missing on this node"
    return RpcError(INTERNAL_ERROR, message, {"class_hash": felt_text(class_hash)})


def no_upstream() -> RpcError:
    """Return the error for a method that only an upstream could answer, on a node without upstreams."""
    return RpcError(SERVER_ERROR, "no upstream is configured, and this node executes no Cairo")


def unanswered(reason: str, tried: int) -> RpcError:
    """Return the error for a call that none of the `tried` upstreams answers; `reason` is the last one's."""
    return RpcError(SERVER_ERROR, "no upstream answers", {"reason": reason, "tried": tried})


def chain_id_unknown() -> RpcError:
    """Return the error for a chain whose name is unknown."""
    return RpcError(SERVER_ERROR, "the chain id is unknown: no import gave --chain-id")
