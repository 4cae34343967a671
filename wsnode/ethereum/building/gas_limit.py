"""The gas limit of blocks that are built here: its bounds, and how it moves towards a target."""

from typing import Final

GAS_LIMIT_TARGET: Final = 60_000_000
"""The default target of built blocks' gas limit, geth's."""
LEAST_GAS_LIMIT: Final = 5000
MOST_GAS_LIMIT: Final = (1 << 63) - 1
GAS_LIMIT_DIVISOR: Final = 1024
NO_GAS_LIMIT: Final = 1 << 50
"""In headers of Arbitrum, whose blocks have no limit."""
ARBITRUM_TARGET: Final = 30_000_000
"""The gas limit of blocks that are built on such a one."""


def gas_limit_after(parent: int, target: int) -> int:
    """Return the gas limit closest to the target that may follow on the parent's (core.CalcGasLimit)."""
    step = parent // GAS_LIMIT_DIVISOR - 1
    return min(max(target, LEAST_GAS_LIMIT, parent - step), parent + step)
