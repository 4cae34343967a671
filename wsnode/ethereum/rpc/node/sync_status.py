"""Status of following: eth_syncing, net_peerCount, wsnode_status."""

from collections.abc import Generator
from typing import Any, Final

from wsnode.ethereum.live.sync_feed import StatusReporter, SyncReporter, with_journal, with_starknet
from wsnode.ethereum.rpc.common.results import quantity
from wsnode.ethereum.rpc.common.schemas import HASH, QUANTITY
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import (
    BOOLEAN,
    COUNT,
    STRING,
    Schema,
    either,
    list_of,
    or_null,
    record,
    text,
)
from wsnode.jsonrpc.work import Await, JsonText, Step

NUMBER: Final[Schema] = {"type": "number", "minimum": 0}
BLOCK: Final = record({"number": QUANTITY, "hash": HASH})
SYNCING: Final = either(
    BOOLEAN, record(dict.fromkeys(("startingBlock", "currentBlock", "highestBlock"), QUANTITY))
)


def _upstream(block: Schema) -> Schema:
    return record(
        {
            "url": STRING,
            "state": STRING,
            "head": or_null(block),
            "heads": STRING,
            "score": record(dict.fromkeys(("announceDelay", "readP95", "errorShare"), NUMBER)),
            "reads": COUNT,
            "failures": COUNT,
            "callsPerSecond": NUMBER,
        },
        {"reason": STRING},
    )


JOURNAL: Final = record(
    {"leading": BOOLEAN, "epoch": COUNT, "published": or_null(STRING), "lag": or_null(COUNT)},
    {"error": STRING},
)
REPLICA: Final = record(
    {
        "journal": STRING,
        "reachable": BOOLEAN,
        "writer": or_null(BOOLEAN),
        "behind": NUMBER,
        "position": or_null(STRING),
        "records": COUNT,
        "refused": COUNT,
    },
    {"error": STRING},
)
# A network with only a Starknet chain defines no schemas of the eth family, so this one refers to none.
_HEX: Final = text("0x[0-9a-f]{1,64}")
STARKNET_BLOCK: Final = record(dict.fromkeys(("number", "hash"), _HEX))
_HEADER: Final = record({"slot": COUNT, "root": HASH, "hash": or_null(HASH)})
BEACON: Final = record(
    {
        "state": STRING,
        "serves": STRING,
        "head": or_null(BLOCK),
        "urls": list_of(
            record(
                {
                    "url": STRING,
                    "state": STRING,
                    "attestedSlot": or_null(COUNT),
                    # The lag is negative if the beacon node reports a slot that this machine's clock has not
                    # reached.
                    "lag": or_null({"type": "integer"}),
                    "failures": COUNT,
                },
                {"why": STRING},
            )
        ),
    },
    {
        "reason": STRING,
        "checkpoint": HASH,
        "clockSlot": COUNT,
        "slotSeconds": NUMBER,
        "committeeSize": COUNT,
        "proved": _HEADER,
        "finalized": _HEADER,
        "participation": COUNT,
        "period": COUNT,
        "nextCommitteeKnown": BOOLEAN,
    },
)
"""State of the proofs of the head; many members are absent until a beacon node has answered."""
STARKNET_STATUS: Final = record(
    {"mode": STRING, "head": or_null(STARKNET_BLOCK), "upstreams": list_of(_upstream(STARKNET_BLOCK))},
    {
        "state": STRING,
        "chain": STRING,
        "trust": STRING,
        "highest": or_null(_HEX),
        "lag": or_null(COUNT),
        "behind": or_null(record({"blocks": COUNT, "seconds": NUMBER})),
        "reorganisations": COUNT,
        "lowestBlock": _HEX,
        "wanted": _HEX,
        "window": COUNT,
    },
)
"""Status of a Starknet chain."""
STATUS: Final = record(
    {"mode": STRING, "head": BLOCK, "upstreams": list_of(_upstream(BLOCK))},
    {
        "state": STRING,
        "trust": STRING,
        "chain": record({"id": COUNT, "family": STRING}, {"name": STRING}),
        "highest": or_null(QUANTITY),
        "lag": or_null(COUNT),
        "behind": or_null(record({"blocks": COUNT, "seconds": NUMBER})),
        "reorganisations": COUNT,
        "earliest": QUANTITY,
        **dict.fromkeys(("window", "windowSeconds"), COUNT),
        "beacon": BEACON,
        "journal": JOURNAL,
        "replica": REPLICA,
        # Only a network that also follows a Starknet chain has this member.
        "starknet": STARKNET_STATUS,
    },
)


class SyncMethods:
    """Handlers of eth_syncing, net_peerCount and wsnode_status, also for a chain that follows no node."""

    def __init__(
        self,
        following: SyncReporter | None,
        journal: StatusReporter | None,
        starknet: SyncReporter | None,
    ) -> None:
        self._following = following
        self._journal = journal
        self._starknet = starknet

    def syncing(self) -> Any:
        """Return false at the head, else where the node is on its way there."""
        progress = None if self._following is None else self._following.progress
        return False if progress is None else progress.members()

    def peer_count(self) -> JsonText:
        """Return the number of followed, healthy nodes."""
        return quantity(0 if self._following is None else self._following.peers)

    def status(self, view: Snapshot) -> Generator[Step, Any, dict[str, Any]]:
        """Return how the chain grows, what is trusted for it, its head, and the state of each upstream.

        `starknet` has the same of a Starknet chain that is followed beside it.
        """
        status: dict[str, Any] = {"mode": "stored", "head": view.head.members(), "upstreams": []}
        if self._following is not None:
            # Another process may follow and publish the chain, so its status is awaited.
            status = yield Await(self._following.tell_status)
        status = with_journal(status, self._journal)
        if self._starknet is None:
            return status
        starknet: dict[str, Any] = yield Await(self._starknet.tell_status)
        return with_starknet(status, starknet)


def add_methods(
    registry: Registry,
    following: SyncReporter | None,
    journal: StatusReporter | None,
    starknet: SyncReporter | None,
) -> None:
    """Register this module's methods.

    `journal` returns the state of the journal of a published chain; `starknet` reports on the Starknet chain
    of the network, if that follows other nodes.
    """
    methods = SyncMethods(following, journal, starknet)
    cacheable = following is None
    registry.method("eth_syncing", view=False, cacheable=cacheable, result=SYNCING)(methods.syncing)
    registry.method("net_peerCount", view=False, cacheable=cacheable, result=QUANTITY)(methods.peer_count)
    registry.method("wsnode_status", result=STATUS)(methods.status)
