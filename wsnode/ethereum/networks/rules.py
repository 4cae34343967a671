"""Rules of a public chain at a given time, and the system contracts of its forks."""

from typing import Any, Final

from wsnode.ethereum.networks import arbitrum
from wsnode.ethereum.networks.row import Network
from wsnode.ethereum.state import fork_table

CANCUN_CONTRACTS: Final = {"BEACON_ROOTS_ADDRESS": "0x000f3df6d732807ef1319fb7b8bb8522d0beac02"}
"""Contract of EIP-4788."""
PRAGUE_CONTRACTS: Final = {
    "CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS": "0x0000bbddc7ce488642fb579f8b00f3a590007251",
    "HISTORY_STORAGE_ADDRESS": "0x0000f90827f1c53a10cb7a02335b175320002935",
    "WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS": "0x00000961ef480eb55e80d19ad83579a64c007002",
}
"""Contracts of EIP-7251, EIP-2935 and EIP-7002; blocks since Prague are invalid without the first and the
last.
"""


NEVER: Final = 1 << 64
MIN_PRICE: Final = "minBlobGasPrice"


def rules_at(network: Network, timestamp: int) -> tuple[str, dict[str, int] | None] | None:
    """Return the newest fork by time of a chain at `timestamp`, and its blob schedule, None without blobs.

    The fork has its name in the table of forks, in lower case. None before the first fork by time.
    """
    config = network.config
    forks = [fork for fork in fork_table() if fork.is_by_time and config.get(fork.key, NEVER) <= timestamp]
    names = [fork.name.lower() for fork in forks if not fork.is_blobs_only]
    known = config.get("blobSchedule", {})
    schedules = [known.get(fork.name.lower()) for fork in forks]
    blobs = next((schedule for schedule in reversed(schedules) if schedule is not None), None)
    return (names[-1], blobs) if names else None


def fork_config(network: Network, timestamp: int) -> dict[str, Any]:
    """Return the members of the genesis `config` of a chain forked from a block of `network` at `timestamp`,
    beside Ethereum's forks: the network's own forks as 0, fee settings, and header rules in `wsnode`.
    """
    ethereum = {fork.key for fork in fork_table()}
    own = [
        key
        for key, begin in network.config.items()
        if key.endswith("Time") and key not in ethereum and begin <= timestamp
    ]
    config: dict[str, Any] = dict.fromkeys(own, 0)
    if network.family == "op-stack":
        config["optimism"] = {}
    if MIN_PRICE in network.config:
        config[MIN_PRICE] = network.config[MIN_PRICE]
    described: dict[str, Any] = {"header": network.fork_rules}
    if network.family == arbitrum.FAMILY:
        described["arbos"] = True
    return config | {"wsnode": described}
