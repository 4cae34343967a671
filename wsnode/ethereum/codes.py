"""Error codes of Ethereum's methods, besides those of jsonrpc/errors; docs/reference/errors.md has a row for
each.
"""

from typing import Final

# geth's internal/ethapi/errors.go.
REVERTED: Final = 3
NOT_PROCESSED: Final = 4
"""EIP-7966: no block included the transaction in time."""
HALTED: Final = -32015
"""Simulated call halted; the engine writes the code into the call's own `error`."""
NONCE_TOO_LOW: Final = -38010
NONCE_TOO_HIGH: Final = -38011
FEE_BELOW_BASE: Final = -38012
INTRINSIC_GAS: Final = -38013
INSUFFICIENT_FUNDS: Final = -38014
BLOCK_GAS_LIMIT: Final = -38015
BLOCK_NUMBER: Final = -38020
BLOCK_TIMESTAMP: Final = -38021
INITCODE_SIZE: Final = -38025
CLIENT_LIMIT: Final = -38026
"""Request with more blocks, calls or slots than allowed."""

# execution-apis, src/engine/common.md.
UNKNOWN_PAYLOAD: Final = -38001
INVALID_FORKCHOICE_STATE: Final = -38002
INVALID_PAYLOAD_ATTRIBUTES: Final = -38003
TOO_LARGE_REQUEST: Final = -38004
UNSUPPORTED_FORK: Final = -38005

# geth's core/history/historymode.go.
PRUNED_HISTORY: Final = 4444
"""Block was pruned in a folder with a window, or its state is not kept in a light folder."""
