"""Versions of the Engine API's structures by time."""

from enum import IntEnum

from wsnode.ethereum.state import ChainSpec


class PayloadFork(IntEnum):
    """Forks with new structures in the Engine API, oldest first."""

    PARIS = 1
    SHANGHAI = 2
    CANCUN = 3
    PRAGUE = 4
    OSAKA = 5
    AMSTERDAM = 6


def payload_version(era: PayloadFork) -> int:
    """Return the version of ExecutionPayload and PayloadAttributes for blocks of an era."""
    return 4 if era >= PayloadFork.AMSTERDAM else min(era, PayloadFork.CANCUN)


def era_of(spec: ChainSpec, timestamp: int) -> PayloadFork:
    """Return the era of a block's timestamp, after the merge."""
    return PayloadFork(spec.engine_generation(timestamp))
