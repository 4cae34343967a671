"""Versions of the Engine API's structures by time."""

from enum import IntEnum

from wsnode.ethereum.state import ChainSpec


class PayloadVersion(IntEnum):
    """Forks with new structures in the Engine API, oldest first."""

    PARIS = 1
    SHANGHAI = 2
    CANCUN = 3
    PRAGUE = 4
    OSAKA = 5
    AMSTERDAM = 6


def payload_version(era: PayloadVersion) -> int:
    """Return the version of ExecutionPayload and PayloadAttributes for blocks of an era."""
    return 4 if era >= PayloadVersion.AMSTERDAM else min(era, PayloadVersion.CANCUN)


def era_of(spec: ChainSpec, timestamp: int) -> PayloadVersion:
    """Return the era of a block's timestamp, after the merge."""
    return PayloadVersion(spec.engine_generation(timestamp))
