"""Time between blocks of a chain."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median
from typing import Final, TypeAlias

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.networks.table import network_of

LOOKED_AT: Final = 17
MIN_SECONDS: Final = 0.1
UNKNOWN_SECONDS: Final = 1.0
"""Seconds between blocks of a chain that is not in the table and has one block so far."""
MAX_SECONDS: Final = 20.0
"""Maximum number of seconds between blocks; a chain that makes no empty blocks may rest for days, but is
asked sooner.
"""


BlockTime: TypeAlias = Callable[[Chain], float]
"""Function that returns the seconds between two blocks of a chain."""


def block_seconds(chain: Chain) -> float:
    """Return the seconds between the last blocks, within bounds; of a known chain with few blocks, the
    table's.
    """
    with chain.snapshot() as view:
        rows = [view.header(number) for number in range(max(0, view.number - LOOKED_AT), view.number + 1)]
    times = [header_fields(row).timestamp for row in rows if row is not None]
    network = network_of(chain.spec.chain_id, chain.spec.genesis_hash)
    if network is not None and len(times) < LOOKED_AT:
        return network.seconds
    return min(max(between(times), MIN_SECONDS), MAX_SECONDS)


def between(times: Sequence[int]) -> float:
    """Return the seconds between blocks of these times: their median, or their mean if two have the same
    second.
    """
    steps = [after - before for before, after in pairwise(times)]
    if not steps:
        return UNKNOWN_SECONDS
    return float(median(steps)) if all(steps) else (times[-1] - times[0]) / len(steps)
