"""Public networks by name: their rules and their genesis block, without the accounts that it allots.

The forks, blob parameters and headers are those of go-ethereum 1.17.8 (`params/config.go`,
`core/genesis.go`), the final total difficulties those of alloy-hardforks 0.4. The hash of each genesis block
follows from its header; the tests hold it against the constant.
"""

from typing import Any, Final

import msgspec

_DEPOSITS: Final = "0x00000000219ab540356cbb839cbe05303d7705fa"
_BLOBS: Final = {
    "cancun": {"target": 3, "max": 6, "baseFeeUpdateFraction": 3338477},
    "prague": {"target": 6, "max": 9, "baseFeeUpdateFraction": 5007716},
    "bpo1": {"target": 10, "max": 15, "baseFeeUpdateFraction": 8346193},
    "bpo2": {"target": 14, "max": 21, "baseFeeUpdateFraction": 11684671},
}
_FROM_GENESIS: Final = dict.fromkeys(
    (
        "homesteadBlock",
        "eip150Block",
        "eip155Block",
        "eip158Block",
        "byzantiumBlock",
        "constantinopleBlock",
        "petersburgBlock",
        "istanbulBlock",
        "muirGlacierBlock",
        "berlinBlock",
        "londonBlock",
    ),
    0,
)


class KnownNetwork(msgspec.Struct, frozen=True):
    """A network whose rules are known here."""

    config: dict[str, Any]
    header: dict[str, Any]
    genesis_hash: str
    final_total_difficulty: int
    """The difficulties of all blocks of proof of work, added up."""

    @property
    def genesis(self) -> bytes:
        """Return the genesis in geth's format, with the root of its state in place of the accounts."""
        return msgspec.json.encode({"config": self.config, **self.header})


NETWORKS: Final = {
    "mainnet": KnownNetwork(
        {
            "chainId": 1,
            "homesteadBlock": 1150000,
            "daoForkBlock": 1920000,
            "daoForkSupport": True,
            "eip150Block": 2463000,
            "eip155Block": 2675000,
            "eip158Block": 2675000,
            "byzantiumBlock": 4370000,
            "constantinopleBlock": 7280000,
            "petersburgBlock": 7280000,
            "istanbulBlock": 9069000,
            "muirGlacierBlock": 9200000,
            "berlinBlock": 12244000,
            "londonBlock": 12965000,
            "arrowGlacierBlock": 13773000,
            "grayGlacierBlock": 15050000,
            "shanghaiTime": 1681338455,
            "cancunTime": 1710338135,
            "pragueTime": 1746612311,
            "osakaTime": 1764798551,
            "bpo1Time": 1765290071,
            "bpo2Time": 1767747671,
            "terminalTotalDifficulty": hex(58_750_000_000_000_000_000_000),
            "depositContractAddress": _DEPOSITS,
            "ethash": {},
            "blobSchedule": _BLOBS,
        },
        {
            "nonce": "0x42",
            "timestamp": "0x0",
            "extraData": "0x11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa",
            "gasLimit": "0x1388",
            "difficulty": "0x400000000",
            "stateRoot": "0xd7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544",
        },
        "0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3",
        58_750_003_716_598_352_816_469,
    ),
    "sepolia": KnownNetwork(
        {
            "chainId": 11155111,
            **_FROM_GENESIS,
            "mergeNetsplitBlock": 1735371,
            "shanghaiTime": 1677557088,
            "cancunTime": 1706655072,
            "pragueTime": 1741159776,
            "osakaTime": 1760427360,
            "bpo1Time": 1761017184,
            "bpo2Time": 1761607008,
            "terminalTotalDifficulty": 17_000_000_000_000_000,
            "depositContractAddress": "0x7f02c3e3c98b133055b8b348b2ac625669ed295d",
            "ethash": {},
            "blobSchedule": _BLOBS,
        },
        {
            "nonce": "0x0",
            "timestamp": "0x6159af19",
            "extraData": "0x5365706f6c69612c20417468656e732c204174746963612c2047726565636521",
            "gasLimit": "0x1c9c380",
            "difficulty": "0x20000",
            "stateRoot": "0x5eb6e371a698b8d68f665192350ffcecbbbf322916f4b51bd79bb6887da3f494",
        },
        "0x25a5cc106eea7138acab33231d7160d69cb777ee0c2c553fcddf5138993e6dd9",
        17_000_018_015_853_232,
    ),
    "hoodi": KnownNetwork(
        {
            "chainId": 560048,
            **_FROM_GENESIS,
            "mergeNetsplitBlock": 0,
            "shanghaiTime": 0,
            "cancunTime": 0,
            "pragueTime": 1742999832,
            "osakaTime": 1761677592,
            "bpo1Time": 1762365720,
            "bpo2Time": 1762955544,
            "terminalTotalDifficulty": 0,
            "depositContractAddress": _DEPOSITS,
            "ethash": {},
            "blobSchedule": _BLOBS,
        },
        {
            "nonce": "0x1234",
            "timestamp": "0x67d80ec0",
            "extraData": "0x",
            "gasLimit": "0x2255100",
            "difficulty": "0x1",
            "stateRoot": "0xda87d7f5f91c51508791bbcbd4aa5baf04917830b86985eeb9ad3d5bfb657576",
        },
        "0xbbe312868b376a3001692a646dd2d7d1e4406380dfd86b98aa8a34d1557c971b",
        1,
    ),
}


def final_total_difficulty(genesis_hash: bytes) -> int | None:
    """Return the total difficulty of every block of proof of stake of a known network, None for another."""
    wanted = f"0x{genesis_hash.hex()}"
    known = (each for each in NETWORKS.values() if each.genesis_hash == wanted)
    return next((each.final_total_difficulty for each in known), None)
