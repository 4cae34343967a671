"""The table of chains in Markdown, a section of the documentation: `wsnode chains --markdown` prints it."""

from collections.abc import Iterable, Iterator
from typing import Final

from wsnode.ethereum.networks.row import Network

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
