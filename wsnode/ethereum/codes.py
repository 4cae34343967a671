"""Error codes of Ethereum's methods, besides those of jsonrpc/errors; docs/reference/errors.md has a row for
each.
"""

from typing import Final

# geth's internal/ethapi/errors.go.
REVERTED: Final = 3
"""geth. `data` is the output of the call."""
NOT_PROCESSED: Final = 4
"""geth, EIP-7966. No block included the transaction of `eth_sendRawTransactionSync` in time; `data` is its
hash.
"""
HALTED: Final = -32015
"""geth. A simulated call halted; the code is in the call's own `error` in a result of `eth_simulateV1`."""
NONCE_TOO_LOW: Final = -38010
"""geth. The nonce is below the account's."""
NONCE_TOO_HIGH: Final = -38011
"""geth. The nonce is above the account's."""
FEE_BELOW_BASE: Final = -38012
"""geth. The fee is below the block's base fee."""
INTRINSIC_GAS: Final = -38013
"""geth. The gas limit is below the intrinsic gas."""
INSUFFICIENT_FUNDS: Final = -38014
"""geth. The sender's balance is below the cost."""
BLOCK_GAS_LIMIT: Final = -38015
"""geth. The block's gas limit is reached."""
BLOCK_NUMBER: Final = -38020
"""geth. Block numbers are not in order."""
BLOCK_TIMESTAMP: Final = -38021
"""geth. Block timestamps are not in order."""
INITCODE_SIZE: Final = -38025
"""geth. The initcode is too large."""
CLIENT_LIMIT: Final = -38026
"""geth. Too many blocks or calls; `eth_getStorageValues`: too many slots."""

# execution-apis, src/engine/common.md.
UNKNOWN_PAYLOAD: Final = -38001
"""execution-apis. `engine_getPayload` names a payload that is not built."""
INVALID_FORKCHOICE_STATE: Final = -38002
"""execution-apis. The safe or the finalized block is not on the chain of the head."""
INVALID_PAYLOAD_ATTRIBUTES: Final = -38003
"""execution-apis. The attributes are invalid; the head is set all the same."""
TOO_LARGE_REQUEST: Final = -38004
"""execution-apis. Too many blocks, blobs, or bytes of them."""
UNSUPPORTED_FORK: Final = -38005
"""execution-apis. The payload is one for another version of the method."""

# geth's core/history/historymode.go.
PRUNED_HISTORY: Final = 4444
"""geth. A block below a folder's window, with `{requested, earliest}`; its state in a light folder; with
`{reason}` a block below a fork that the fork's node does not give.
"""
