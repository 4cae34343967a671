"""What a node that follows others says of that: eth_syncing, net_peerCount, wsnode_status."""

from collections.abc import Callable, Generator
from typing import Any, Final, Protocol, TypeAlias

from wsnode.ethereum.live.sync_feed import SyncProgress
from wsnode.ethereum.rpc.form.results import quantity
from wsnode.ethereum.rpc.form.schemas import HASH, QUANTITY
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
from wsnode.jsonrpc.work import AsyncCall, Step

NUMBER: Final[Schema] = {"type": "number", "minimum": 0}
BLOCK: Final = record({"number": QUANTITY, "hash": HASH})
SYNCING: Final = either(
    BOOLEAN, record(dict.fromkeys(("startingBlock", "currentBlock", "highestBlock"), QUANTITY))
)
UPSTREAM: Final = record(
    {
        "url": STRING,
        "state": STRING,
        "head": or_null(BLOCK),
        "heads": STRING,
        "score": record(dict.fromkeys(("announceDelay", "readP95", "errorShare"), NUMBER)),
        "reads": COUNT,
        "failures": COUNT,
        "callsPerSecond": NUMBER,
    },
    {"reason": STRING},
)
_JOURNAL: Final[dict[str, Schema]] = {
    "leading": BOOLEAN,
    "epoch": COUNT,
    "published": or_null(STRING),
    "lag": or_null(COUNT),
}
JOURNAL: Final = record(_JOURNAL, {"error": STRING, "alt": record(_JOURNAL, {"error": STRING})})
_REPLICA: Final[dict[str, Schema]] = {
    "journal": STRING,
    "reachable": BOOLEAN,
    "writer": or_null(BOOLEAN),
    "behind": NUMBER,
    "position": or_null(STRING),
    "records": COUNT,
    "refused": COUNT,
}
# A network with an alt chain alone defines no form of the eth family.
_HEX: Final = text("0x[0-9a-f]{1,64}")
ALT_BLOCK: Final = record(dict.fromkeys(("number", "hash"), _HEX))
ALT_REPLICA: Final = record(
    {
        **_REPLICA,
        "state": STRING,
        "head": or_null(ALT_BLOCK),
        "highest": or_null(_HEX),
        "lag": or_null(COUNT),
        "reorganisations": COUNT,
    },
    {"error": STRING},
)
REPLICA: Final = record(_REPLICA, {"error": STRING, "alt": ALT_REPLICA})
STATUS: Final = record(
    {"mode": STRING, "head": BLOCK, "upstreams": list_of(UPSTREAM)},
    {
        "state": STRING,
        "trust": STRING,
        "highest": or_null(QUANTITY),
        "lag": or_null(COUNT),
        "reorganisations": COUNT,
        "earliest": QUANTITY,
        "window": COUNT,
        "journal": JOURNAL,
        "replica": REPLICA,
    },
)


ALT_STATUS: Final = record(
    {"mode": STRING, "head": or_null(ALT_BLOCK), "upstreams": {**list_of(STRING), "maxItems": 0}},
    {"replica": record({"alt": ALT_REPLICA})},
)
"""Of a network with an alt chain alone."""
TellStatus: TypeAlias = Callable[[], dict[str, Any]]


class Following(Protocol):
    """What makes a chain live by other nodes."""

    @property
    def progress(self) -> SyncProgress | None:
        """Return how far the way to the others' head is gone, None at its end."""

    @property
    def peers(self) -> int:
        """Return how many nodes are followed now."""

    async def tell_status(self) -> dict[str, Any]:
        """Return the state of following, and of each node."""

    async def send(self, encoded: bytes) -> None:
        """Return once a node has taken a signed transaction.

        Raises:
            NotSentError: None has.
        """


def with_journal(status: dict[str, Any], journal: TellStatus | None) -> dict[str, Any]:
    """Return a node's status with that of the journal to which it publishes its chain, if it does."""
    return status if journal is None else {**status, "journal": journal()}


class FollowingMethods:
    """The methods of a chain that follows, or of one that does not."""

    def __init__(self, following: Following | None, journal: TellStatus | None) -> None:
        self._following = following
        self._journal = journal

    def syncing(self) -> Any:
        """Return false at the head, else where the node is on its way there."""
        progress = None if self._following is None else self._following.progress
        return False if progress is None else progress.members()

    def peer_count(self) -> bytes:
        """Return how many nodes are followed and healthy."""
        return quantity(0 if self._following is None else self._following.peers)

    def status(self, view: Snapshot) -> Generator[Step, Any, dict[str, Any]]:
        """Return how the chain grows, what is trusted for it, its head, and the state of each upstream."""
        if self._following is None:
            return with_journal(
                {"mode": "stored", "head": view.head.members(), "upstreams": []}, self._journal
            )
        # Another process may be the one that follows, and publishes.
        status: dict[str, Any] = yield AsyncCall(self._following.tell_status)
        return with_journal(status, self._journal)


def add_methods(registry: Registry, following: Following | None, journal: TellStatus | None) -> None:
    """Register this module's methods; `journal` returns the state of the journal of a published chain."""
    methods = FollowingMethods(following, journal)
    steady = following is None
    registry.method("eth_syncing", view=False, steady=steady, result=SYNCING)(methods.syncing)
    registry.method("net_peerCount", view=False, steady=steady, result=QUANTITY)(methods.peer_count)
    registry.method("wsnode_status", result=STATUS)(methods.status)
