"""Chains of Arbitrum: their rules are those of the family, so a row has names and ids.

Forks begin with the genesis block here: a window of blocks is younger than all of them, so they only say
which rules of the EVM calls have.
"""

from typing import Final

from wsnode.ethereum.networks.row import FROM_GENESIS, Network

FAMILY: Final = "arbitrum"
LEFT_OUT: Final = "gasUsedForL1 and timeboosted of receipts are in no root, and left out"
_NOTES: Final = (
    "base fee, gas limit and nonce are not checked: the block's hash commits to them",
    LEFT_OUT,
    "calls of contracts of ArbOS and of Stylus programs, estimates of gas and traces of blocks are refused",
    "types 0x64 to 0x69 are untested on real blocks",
    "blocks before Nitro (transactions of type 0x78) are refused",
)
_FORK_RULES: Final = {"seal": "authority", "baseFee": "unchecked"}
"""The base fee stays as it is."""
_FORK_NOTES: Final = (
    "what comes to a contract of ArbOS (0x64 to 0x73, 0xc8, 0xff) or to a Stylus program is refused",
    "no gas for data on L1 is charged",
    "NUMBER and BLOCKHASH give the fork's own blocks, and not those of L1",
    "its own blocks have no transactions of ArbOS, and a gas limit of 30,000,000 without --gas-limit",
)
_FORKS: Final = {
    **FROM_GENESIS,
    **dict.fromkeys(("shanghaiTime", "cancunTime", "pragueTime"), 0),
    "terminalTotalDifficulty": 0,
}


def _network(names: tuple[str, ...], title: str, chain_id: int, genesis_hash: str) -> Network:
    return Network(
        names=names,
        title=title,
        family=FAMILY,
        config={"chainId": chain_id, **_FORKS},
        genesis_hash=genesis_hash,
        seconds=0.25,
        fork_rules=_FORK_RULES,
        fork_notes=_FORK_NOTES,
        calls="but of ArbOS and Stylus",
        notes=_NOTES,
    )


NETWORKS: Final = (
    _network(
        ("arbitrum", "arbitrum-one"),
        "Arbitrum One",
        42161,
        "0x7ee576b35482195fc49205cec9af72ce14f003b9ae69f6ba0faef4514be8b442",
    ),
    _network(
        ("arbitrum-nova",),
        "Arbitrum Nova",
        42170,
        "0x2ad24e03026118f9b3a48626f0636e38c93660e90a6812e853a99aa8c5371561",
    ),
    _network(
        ("arbitrum-sepolia",),
        "Arbitrum Sepolia",
        421614,
        "0x77194da4010e549a7028a9c3c51c3e277823be6ac7d138d0bb8a70197b5c004c",
    ),
)
