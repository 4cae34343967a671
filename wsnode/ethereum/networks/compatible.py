"""Chains whose blocks have Ethereum's encodings and header rules of their own.

Forks of a chain other than Gnosis begin with its genesis block here: a window of blocks is younger than all
of them, so they only say which rules of the EVM calls have.
"""

from typing import Any, Final

from wsnode.ethereum.networks.row import CANCUN_BLOBS, FROM_GENESIS, NEWEST, UNTESTED, Network

_GNOSIS_BLOBS: Final = {"target": 1, "max": 2, "baseFeeUpdateFraction": 1112826}
_UNCHECKED: Final = dict.fromkeys(("extraData", "baseFee", "gasLimit", "blobGas", "members"), "unchecked")
_AUTHORITY: Final = {"seal": "authority", **_UNCHECKED}
_SEALED: Final = (
    "difficulty, seal, base fee, gas limit and blob gas are not checked: the block's hash commits to them"
)
_NO_RECEIPTS: Final = "receipts are untested on real blocks"
_LATER_MEMBERS: Final = f"{UNTESTED} with the members of forks after London"
_UNSEALED: Final = "its own blocks have no producer's seal"
_STATE_SYNC: Final = (
    "state sync transactions (type 0x7f) are untested on real blocks, and only debug_getRawBlock gives them",
    "a block before the fork Madhugiri that has a state sync transaction, which is in no root, is refused",
)


def _gnosis(
    names: tuple[str, ...],
    title: str,
    chain_id: int,
    genesis_hash: str,
    terminal_total_difficulty: int,
    **forks: int,
) -> Network:
    """Return a chain of Gnosis; its constants are those of gnosischain/reth_gnosis, src/spec/chainspecs."""
    config: dict[str, Any] = {
        "chainId": chain_id,
        **FROM_GENESIS,
        **forks,
        "minBlobGasPrice": 1_000_000_000,
        "blobSchedule": dict.fromkeys(("cancun", "prague", "osaka"), _GNOSIS_BLOBS),
        "terminalTotalDifficulty": hex(terminal_total_difficulty),
    }
    return Network(
        names=names,
        title=title,
        seconds=5,
        is_tested=False,
        genesis_hash=genesis_hash,
        rules={},
        fork_notes=("fees are burnt, and not collected",),
        config=config,
    )


def _polygon(names: tuple[str, ...], title: str, chain_id: int, genesis_hash: str) -> Network:
    return Network(
        names=names,
        title=title,
        seconds=2,
        family="polygon",
        rules=_AUTHORITY,
        logs="all since Madhugiri",
        fork_rules={"seal": "authority"},
        fork_notes=(_UNSEALED, "its own blocks have no state sync transactions"),
        genesis_hash=genesis_hash,
        config={"chainId": chain_id, **NEWEST},
        notes=(_SEALED, *_STATE_SYNC),
    )


def _sealed(
    names: tuple[str, ...], title: str, chain_id: int, genesis_hash: str | None, *, is_bsc: bool
) -> Network:
    """Return a chain of BNB Smart Chain, or one of Linea.

    The base fee stays as it is, 0 or 7 wei, also on a fork.
    """
    blobs = {"blobSchedule": dict.fromkeys(("cancun", "prague", "osaka"), CANCUN_BLOBS)} if is_bsc else {}
    return Network(
        names=names,
        title=title,
        seconds=0.45 if is_bsc else 2,
        genesis_hash=genesis_hash,
        rules=_AUTHORITY | ({"time": "laterOrEqual"} if is_bsc else {}),
        fork_rules={"seal": "authority", "baseFee": "unchecked"},
        fork_notes=(_UNSEALED,),
        config={"chainId": chain_id, **NEWEST, **blobs},
        notes=(_NO_RECEIPTS if is_bsc else _LATER_MEMBERS, _SEALED),
    )


NETWORKS: Final = (
    _gnosis(
        ("gnosis", "xdai"),
        "Gnosis",
        100,
        "0x4f1dd23188aab3a76b463e4af801b52b1248ef073c648cbdc4c9333d3da79756",
        8626000000000000000000058750000000000000000000,
        londonBlock=19040000,
        shanghaiTime=1690889660,
        cancunTime=1710181820,
        pragueTime=1746021820,
        osakaTime=1776168380,
    ),
    _gnosis(
        ("chiado",),
        "Gnosis Chiado",
        10200,
        "0xada44fd8d2ecab8b08f256af07ad3e777f17fb434f8f8e678b312f576212ba9a",
        231707791542740786049188744689299064356246512,
        shanghaiTime=1684934220,
        cancunTime=1706724940,
        pragueTime=1741254220,
        osakaTime=1761037900,
    ),
    _polygon(
        ("polygon", "matic"),
        "Polygon PoS",
        137,
        "0xa9c28ce2141b56c474f1dc504bee9b01eb1bd7d1a507580d5519d4437a97de1b",
    ),
    _polygon(
        ("amoy",),
        "Polygon Amoy",
        80002,
        "0x7202b2b53c5a0836e773e319d18922cc756dd67432f9a1f65352b61f4406c697",
    ),
    _sealed(
        ("bsc", "bnb"),
        "BNB Smart Chain",
        56,
        "0x0d21840abff46b96c84b2ac9e10e4f5cdaeb5693cb665db62a2f3b02d2d57b5b",
        is_bsc=True,
    ),
    _sealed(
        ("bsc-testnet", "chapel"),
        "BNB Smart Chain testnet",
        97,
        "0x6d3c66c5357ec91d5c43af47e234a939b22557cbb552dc45bebbceeed90fbe34",
        is_bsc=True,
    ),
    _sealed(
        ("linea",),
        "Linea",
        59144,
        "0xb6762a65689107b2326364aefc18f94cda413209fab35c00d4af51eaa20ffbc6",
        is_bsc=False,
    ),
    _sealed(("linea-sepolia",), "Linea Sepolia", 59141, None, is_bsc=False),
)
