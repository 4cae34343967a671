"""Chains of the OP stack: their rules are those of the family, so a row has names, ids, forks and the pace.

A fork of the family contains one of Ethereum's: Canyon Shanghai, Ecotone Cancun, Isthmus Prague, Karst (on
Base Azul) Osaka. The times are those of alloy-op-hardforks 0.5.0, of Karst those of the fork ids that nodes
announce, and of Azul those of Base's contracts. A member of the Superchain has the family's times where its
genesis block is older.
"""

from collections.abc import Mapping
from typing import Final

from wsnode.ethereum.networks.row import FROM_GENESIS, UNTESTED, Network

_NOTES: Final = (
    "gas limit, footprint of data and place of deposits are not checked: the block's hash commits to them",
    "traces of blocks are refused: deposits are not executed",
)
_FORK_RULES: Final = {
    "extraData": "optimism",
    "baseFee": "optimism",
    "blobGas": "unchecked",
    "withdrawalsRoot": "storage",
}
_FORK_NOTES: Final = ("no fee for data on L1 is charged", "its own blocks have no deposits")
_CONTAINED: Final = {
    "canyonTime": "shanghaiTime",
    "ecotoneTime": "cancunTime",
    "isthmusTime": "pragueTime",
    "karstTime": "osakaTime",
    "azulTime": "osakaTime",
}
_UP_TO_JOVIAN: Final = {
    "canyonTime": 1704992401,
    "ecotoneTime": 1710374401,
    "fjordTime": 1720627201,
    "graniteTime": 1726070401,
    "holoceneTime": 1736445601,
    "isthmusTime": 1746806401,
    "jovianTime": 1764691201,
}
_SEPOLIA_UP_TO_JOVIAN: Final = {
    "canyonTime": 1699981200,
    "ecotoneTime": 1708534800,
    "fjordTime": 1716998400,
    "graniteTime": 1723478400,
    "holoceneTime": 1732633200,
    "isthmusTime": 1744905600,
    "jovianTime": 1763568001,
}
_MAINNET: Final = {**_UP_TO_JOVIAN, "karstTime": 1783526401}
_SEPOLIA: Final = {**_SEPOLIA_UP_TO_JOVIAN, "karstTime": 1781712001}
_WORLD: Final = {**_UP_TO_JOVIAN, "karstTime": 1789992000}
_BASE: Final = {**_UP_TO_JOVIAN, "azulTime": 1779991200}
_BASE_SEPOLIA: Final = {**_SEPOLIA_UP_TO_JOVIAN, "azulTime": 1779991200}
"""The time of Azul is that of Base: it began no later."""


def _network(
    names: tuple[str, ...],
    title: str,
    chain_id: int,
    seconds: float,
    genesis_hash: str | None = None,
    forks: Mapping[str, int] = _MAINNET,
) -> Network:
    contained = {_CONTAINED[name]: begin for name, begin in forks.items() if name in _CONTAINED}
    return Network(
        names=names,
        title=title,
        family="op-stack",
        config={
            "chainId": chain_id,
            **FROM_GENESIS,
            "terminalTotalDifficulty": 0,
            **forks,
            **contained,
        },
        genesis_hash=genesis_hash,
        seconds=seconds,
        calls="without the fee for data on L1",
        fork_rules=_FORK_RULES,
        fork_notes=_FORK_NOTES,
        notes=(f"{UNTESTED} since {'Azul' if 'azulTime' in forks else 'Karst'}", *_NOTES),
    )


NETWORKS: Final = (
    _network(
        ("op", "optimism"),
        "OP Mainnet",
        10,
        2,
        "0x7ca38a1916c42007829c55e69d3e9a73265554b586a499015373241b8a3fa48b",
    ),
    _network(
        ("op-sepolia",),
        "OP Sepolia",
        11155420,
        2,
        "0x102de6ffb001480cc9b8b548fd05c34cd4f46ae4aa91759393db90ea0409887d",
        _SEPOLIA,
    ),
    _network(
        ("base",),
        "Base",
        8453,
        0.2,
        "0xf712aa9241cc24369b143cf6dce85f0902a9731e70d66818a3a5845b296c73dd",
        _BASE,
    ),
    _network(
        ("base-sepolia",),
        "Base Sepolia",
        84532,
        0.2,
        "0x0dcc9e089e30b90ddfc55be9a37dd15bc551aeee999d2e2b51414c54eaf934e4",
        _BASE_SEPOLIA,
    ),
    _network(
        ("unichain",),
        "Unichain",
        130,
        1,
        "0x3425162ddf41a0a1f0106d67b71828c9a9577e6ddeb94e4f33d2cde1fdc3befe",
    ),
    _network(("unichain-sepolia",), "Unichain Sepolia", 1301, 1, forks=_SEPOLIA),
    _network(
        ("world",),
        "World Chain",
        480,
        2,
        "0x70d316d2e0973b62332ba2e9768dd7854298d7ffe77f0409ffdb8d859f2d3fa3",
        _WORLD,
    ),
    _network(("ink",), "Ink", 57073, 1),
    _network(("soneium",), "Soneium", 1868, 2),
    _network(("mode",), "Mode", 34443, 2),
    _network(("zora",), "Zora", 7777777, 2),
)
