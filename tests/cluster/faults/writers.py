"""What makes the chain of a cluster, and what publishes it: one node does both, or some follow another."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec


class Writers(msgspec.Struct, frozen=True):
    """The nodes of a cluster that are no replicas, by their names."""

    source: str
    """It makes the blocks: a development chain."""
    publishers: Sequence[str]
    """They write the journal, one at a time."""
    work: Mapping[str, int]
    """What happens to the chain, and how often beside the rest."""
    workers: Mapping[str, int] = {}
    """Of publishers that have some."""

    @property
    def standbys(self) -> tuple[str, ...]:
        """Return the nodes that take the lease from each other."""
        return tuple(self.publishers) if len(self.publishers) > 1 else ()

    @property
    def names(self) -> Sequence[str]:
        return list(dict.fromkeys((self.source, *self.publishers)))


_WORK: Final = {"block": 20, "anvil_reorg": 2, "wsnode_reorg": 2}
WRITERS: Final = {
    "dev": Writers("leader", ("leader",), {**_WORK, "balance": 2, "storage": 2}),
    # Nodes that follow another one refuse a chain with patches. One of these has a process that follows, and
    # two that serve.
    "follow": Writers("upstream", ("follower-1", "follower-2"), _WORK, {"follower-2": 2}),
}
