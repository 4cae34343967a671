"""All public chains that are known, by name, by chain id and by the hash of the genesis block."""

from typing import TYPE_CHECKING, Final

from wsnode.ethereum.networks import arbitrum, compatible, ethereum, optimism
from wsnode.ethereum.networks.row import NEWEST, Network

if TYPE_CHECKING:
    from wsnode.ethereum.state import ChainSpec

NETWORKS: Final = (*ethereum.NETWORKS, *compatible.NETWORKS, *optimism.NETWORKS, *arbitrum.NETWORKS)
_BY_NAME: Final = {name: network for network in NETWORKS for name in network.names}
_BY_ID: Final = {network.chain_id: network for network in NETWORKS}
MOST_CHAIN_ID: Final = (1 << 63) - 1
MOST_DIGITS: Final = 19
UNKNOWN_GENESIS: Final = bytes(32)
"""What stands in the place of the hash of a genesis block that is not known."""


class UnknownNetworkError(ValueError):
    """No chain has a name."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"no chain is called {name:.40}; known are {', '.join(each.name for each in NETWORKS)} "
            "(docs/reference/chains.md)"
        )
        self.name = name


def find_network(name: str) -> Network:
    """Return the chain with a name, an alias or an id in decimal digits, which may be of an unknown chain.

    Raises:
        UnknownNetworkError: There is none.
    """
    if name.isascii() and name.isdecimal() and 0 < (chain_id := int(name[:MOST_DIGITS])) <= MOST_CHAIN_ID:
        return _BY_ID.get(chain_id) or unknown_network(chain_id)
    found = _BY_NAME.get(name)
    if found is None:
        raise UnknownNetworkError(name)
    return found


def unknown_network(chain_id: int) -> Network:
    """Return a chain outside the table, of Ethereum's rules; its forks and blob schedule are not known."""
    return Network(
        names=(str(chain_id),),
        title=f"chain {chain_id}",
        config={"chainId": chain_id, **NEWEST},
        rules={"members": "unchecked", "blobGas": "unchecked"},
        seconds=12,
        is_tested=False,
    )


def unknown_chain(spec: "ChainSpec") -> str | None:
    """Return in words that a chain is outside the table and its family was not named, None if it is known."""
    is_described = spec.genesis_hash != UNKNOWN_GENESIS or spec.family != "ethereum"
    if is_described or spec.chain_id in _BY_ID:
        return None
    return (
        f"chain {spec.chain_id} is not in the table of chains: its headers are checked by Ethereum's rules, "
        "but for the members that forks add and blob gas; name its family in the genesis file if that fails"
    )


def known_network(chain_id: int) -> Network | None:
    """Return the chain with an id, None if none is known."""
    return _BY_ID.get(chain_id)


def named(chain_id: int) -> str:
    """Return a chain id for a message, with the chain's name if it is known."""
    found = _BY_ID.get(chain_id)
    return str(chain_id) if found is None else f"{chain_id} ({found.name})"


def network_of(chain_id: int, genesis_hash: bytes) -> Network | None:
    """Return the chain with an id and a genesis block, None if none is known: others may have its id."""
    found = _BY_ID.get(chain_id)
    if found is None:
        return None
    known = UNKNOWN_GENESIS if found.genesis_hash is None else bytes.fromhex(found.genesis_hash[2:])
    return found if known == genesis_hash else None


def unproved_members(family: str) -> str | None:
    """Return in words which members a family's objects lack because no root commits to them, if any."""
    return arbitrum.LEFT_OUT if family == arbitrum.FAMILY else None


def final_total_difficulty(genesis_hash: bytes) -> int | None:
    """Return the total difficulty of every block of proof of stake of a known network, None for another."""
    wanted = f"0x{genesis_hash.hex()}"
    known = (each for each in NETWORKS if each.genesis_hash == wanted)
    return next((each.final_total_difficulty for each in known), None)
