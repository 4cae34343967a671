"""Gas limit of blocks built here: its bounds, and its steps towards a target."""

from typing import Final

GAS_LIMIT_TARGET: Final = 60_000_000
"""Default target of the gas limit, in gas; geth's."""
MIN_GAS_LIMIT: Final = 5000
MAX_GAS_LIMIT: Final = (1 << 63) - 1
GAS_LIMIT_DIVISOR: Final = 1024
NO_GAS_LIMIT: Final = 1 << 50
"""Gas limit in headers of Arbitrum, whose blocks have no limit."""
ARBITRUM_TARGET: Final = 30_000_000
"""Gas limit of a block built on a block of Arbitrum."""


def gas_limit_after(parent: int, target: int) -> int:
    """Return the gas limit closest to `target` that is valid after `parent` (geth core.CalcGasLimit)."""
    step = parent // GAS_LIMIT_DIVISOR - 1
    return min(max(target, MIN_GAS_LIMIT, parent - step), parent + step)
