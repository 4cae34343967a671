"""Row of the table of chains."""

from typing import Any, Final

import msgspec

FROM_GENESIS: Final = dict.fromkeys(
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
"""Forks before proof of stake, active from the genesis block on."""

NEWEST: Final = {
    **FROM_GENESIS,
    **dict.fromkeys(("shanghaiTime", "cancunTime", "pragueTime", "osakaTime"), 0),
    "terminalTotalDifficulty": 0,
}
"""All forks up to Osaka, active from the genesis block on."""

CANCUN_BLOBS: Final = {"target": 3, "max": 6, "baseFeeUpdateFraction": 3338477}
"""Blob parameters that came with Cancun."""
UNTESTED: Final = "untested on real blocks"
UNKNOWN_GENESIS_BLOCK: Final = (
    "its genesis block is not known: the chain id and the first block say which chain it is"
)


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """Public chain: its rules, its genesis block, and the ways in which the node can follow it."""

    names: tuple[str, ...]
    """Name and aliases, as accepted by `--chain`."""
    title: str
    config: dict[str, Any]
    """Member `config` of its genesis file, with geth's names."""
    family: str = "ethereum"
    """Family of chains with the same encodings of transactions and receipts."""
    rules: dict[str, str] | None = None
    """Header rules that differ from those of its family, None if none do."""
    header: dict[str, Any] = {}
    """Header of its genesis block, with the state root in place of the accounts; empty if unknown."""
    genesis_hash: str | None = None
    final_total_difficulty: int | None = None
    """Total difficulty of all blocks of proof of work."""
    seconds: float
    """Seconds between two blocks."""
    is_executed: bool = False
    """True if wsnode executes its blocks, so that it can be followed with --full."""
    is_tested: bool = True
    """True if real blocks of it, or of a chain with the same rules, were verified."""
    calls: str = "yes"
    """Calls that a light folder runs, in the words of the page."""
    logs: str = "all"
    """Logs that a light folder has, in the words of the page."""
    fork_rules: dict[str, str] = {}
    """Header rules of the blocks that a development chain makes on one of its blocks."""
    fork_notes: tuple[str, ...] = ()
    """Sentences on parts of the chain missing in a development chain on one of its blocks."""
    notes: tuple[str, ...] = ()
    """Sentences on rules that are not checked, and on members left out."""

    @property
    def limits(self) -> tuple[str, ...]:
        """Return the notes, preceded by those that follow from other members."""
        untested = () if self.is_tested else (UNTESTED,)
        unknown = () if self.genesis_hash is not None else (UNKNOWN_GENESIS_BLOCK,)
        return (*untested, *unknown, *self.notes)

    @property
    def name(self) -> str:
        """Return the first of its names."""
        return self.names[0]

    @property
    def chain_id(self) -> int:
        found: int = self.config["chainId"]
        return found

    @property
    def genesis(self) -> bytes:
        """Return its genesis file in geth's format, without accounts."""
        if self.header:
            return msgspec.json.encode({"config": self.config, **self.header})
        described = {"family": self.family, "header": self.rules, "genesisHash": self.genesis_hash}
        return msgspec.json.encode({"config": self.config | {"wsnode": described}})
