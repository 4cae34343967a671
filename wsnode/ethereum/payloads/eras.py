"""Which structures of the Engine API belong to a time."""

from enum import IntEnum
from typing import Final

from wsnode.ethereum.state import ChainSpec

_ANY_NUMBER: Final = (1 << 64) - 1
"""Since the merge a block's time alone says which rules it has."""


class Era(IntEnum):
    """The forks that gave the Engine API new structures, oldest first."""

    PARIS = 1
    SHANGHAI = 2
    CANCUN = 3
    PRAGUE = 4
    OSAKA = 5


_BEGUN_BY: Final = {
    "Shanghai": Era.SHANGHAI,
    "Cancun": Era.CANCUN,
    "Prague": Era.PRAGUE,
    "Osaka": Era.OSAKA,
    **{f"BPO{number}": Era.OSAKA for number in range(1, 6)},
}


def era_of(spec: ChainSpec, timestamp: int) -> Era:
    """Return the era of a block after the merge."""
    return _BEGUN_BY.get(spec.fork_name(_ANY_NUMBER, timestamp), Era.PARIS)
