"""System contracts at fixed addresses, with the names and the order of eth_config (EIP-7910)."""

from typing import Final

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
