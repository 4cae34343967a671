"""How fast a chain grows."""

from collections.abc import Callable
from itertools import pairwise
from statistics import median
from typing import Final, TypeAlias

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import header_fields

LOOKED_AT: Final = 17
LEAST_SECONDS: Final = 1.0
MOST_SECONDS: Final = 20.0
"""A chain that makes no blocks without transactions may rest for days; it is asked about sooner."""


Pace: TypeAlias = Callable[[Chain], float]
"""Says how many seconds are between two blocks of a chain."""


def block_seconds(chain: Chain) -> float:
    """Return the median time between the last blocks, within bounds."""
    with chain.snapshot() as view:
        rows = [view.header(number) for number in range(max(0, view.number - LOOKED_AT), view.number + 1)]
    times = [header_fields(row).timestamp for row in rows if row is not None]
    steps = [after - before for before, after in pairwise(times)]
    return min(max(float(median(steps)), LEAST_SECONDS), MOST_SECONDS) if steps else LEAST_SECONDS
