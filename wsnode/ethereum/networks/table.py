"""All known public chains: by name, by chain id and by genesis hash, and as a table in Markdown."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from wsnode.ethereum.networks import arbitrum, compatible, ethereum, optimism
from wsnode.ethereum.networks.row import NEWEST, Network

if TYPE_CHECKING:
    from wsnode.ethereum.state import ChainSpec

NETWORKS: Final = (*ethereum.NETWORKS, *compatible.NETWORKS, *optimism.NETWORKS, *arbitrum.NETWORKS)
_BY_NAME: Final = {name: network for network in NETWORKS for name in network.names}
_BY_ID: Final = {network.chain_id: network for network in NETWORKS}
MAX_CHAIN_ID: Final = (1 << 63) - 1
MAX_DIGITS: Final = 19
UNKNOWN_GENESIS: Final = bytes(32)
"""Value in place of an unknown genesis hash."""


class UnknownNetworkError(ValueError):
    """Error of a name that no known chain has."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"no chain is called {name:.40}; known are {', '.join(each.name for each in NETWORKS)} "
            "(docs/reference/chains.md)"
        )
        self.name = name


def find_network(name: str) -> Network:
    """Return the chain with a name, an alias or a decimal chain id, which the table may lack.

    Raises:
        UnknownNetworkError: No chain has the name.
    """
    if name.isascii() and name.isdecimal() and 0 < (chain_id := int(name[:MAX_DIGITS])) <= MAX_CHAIN_ID:
        return _BY_ID.get(chain_id) or unknown_network(chain_id)
    found = _BY_NAME.get(name)
    if found is None:
        raise UnknownNetworkError(name)
    return found


def unknown_network(chain_id: int) -> Network:
    """Return a chain outside the table, with Ethereum's rules; its forks and blob schedule are not known."""
    return Network(
        names=(str(chain_id),),
        title=f"chain {chain_id}",
        config={"chainId": chain_id, **NEWEST},
        rules={"members": "unchecked", "blobGas": "unchecked"},
        seconds=12,
        is_tested=False,
    )


def unknown_chain(spec: "ChainSpec") -> str | None:
    """Return a warning about a chain outside the table without a named family, None for any other."""
    is_described = spec.genesis_hash != UNKNOWN_GENESIS or spec.family != "ethereum"
    if is_described or spec.chain_id in _BY_ID:
        return None
    return (
        f"chain {spec.chain_id} is not in the table of chains: its headers are checked by Ethereum's rules, "
        "but for the members that forks add and blob gas; name its family in the genesis file if that fails"
    )


def known_network(chain_id: int) -> Network | None:
    """Return the known chain with a chain id, None if there is none."""
    return _BY_ID.get(chain_id)


def named(chain_id: int) -> str:
    """Return a chain id for a message, with the chain's name if it is known."""
    found = _BY_ID.get(chain_id)
    return str(chain_id) if found is None else f"{chain_id} ({found.name})"


def network_of(chain_id: int, genesis_hash: bytes) -> Network | None:
    """Return the row with a chain id and a genesis hash, since ids are not unique; None if there is none."""
    found = _BY_ID.get(chain_id)
    if found is None:
        return None
    known = UNKNOWN_GENESIS if found.genesis_hash is None else bytes.fromhex(found.genesis_hash[2:])
    return found if known == genesis_hash else None


def unproved_members(family: str) -> str | None:
    """Return a sentence on the members that a family lacks, as no root commits to them; None if none."""
    return arbitrum.LEFT_OUT if family == arbitrum.FAMILY else None


def final_total_difficulty(genesis_hash: bytes) -> int | None:
    """Return the final total difficulty of the known network with a genesis hash, None for any other."""
    wanted = f"0x{genesis_hash.hex()}"
    known = (each for each in NETWORKS if each.genesis_hash == wanted)
    return next((each.final_total_difficulty for each in known), None)


_HEADS: Final = (
    "chain",
    "`--chain`",
    "id",
    "family",
    "block time",
    "full",
    "light",
    "fork",
    "calls",
    "logs",
    "limits",
)
TRUSTED: Final = """\
In a light folder everything in blocks, transactions, receipts and logs is under the block's hash, and state
under its state root. Trusted is what the upstreams say of which block is the head (`--agree`), and what the
limits name."""


def page_section(networks: Iterable[Network]) -> str:
    """Return Markdown: a table of the chains, a paragraph on what is trusted, and the numbered limits."""
    networks = tuple(networks)
    numbers: dict[str, int] = {}
    for network in networks:
        for limit in (*network.limits, *_on_fork(network)):
            numbers.setdefault(limit, len(numbers) + 1)
    lines = [_line(_HEADS), _line("---" for _ in _HEADS)]
    lines += [_line(_cells(network, numbers)) for network in networks]
    limits = [f"{number}. {limit}" for limit, number in numbers.items()]
    return "\n".join([*lines, "", TRUSTED, "", *limits, ""])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(network: Network, numbers: dict[str, int]) -> Iterator[str]:
    yield network.title
    yield ", ".join(f"`{name}`" for name in network.names)
    yield str(network.chain_id)
    yield network.family
    yield f"{network.seconds:g} s"
    yield "yes" if network.is_executed else "no"
    yield "yes"
    yield "yes"
    yield network.calls
    yield network.logs
    yield ", ".join(str(numbers[limit]) for limit in (*network.limits, *_on_fork(network))) or "none"


def _on_fork(network: Network) -> tuple[str, ...]:
    return tuple(f"on a fork: {note}" for note in network.fork_notes)
