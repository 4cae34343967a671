"""Messages between the parent and its workers."""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

import msgspec

from wsnode.server.observability.families import Family

FOLLOWS: Final = 0
"""Number of the process that follows other nodes or a journal and writes the chains; it serves no clients."""
HEARTBEAT_SECONDS: Final = 1.0
"""Seconds between two heartbeats of a process."""
SILENT_SECONDS: Final = 3.0
"""Seconds without a message after which a process is silent: it is not waited for, and gets no connections.
"""


PART_BYTES: Final = 1 << 20
"""Maximum number of bytes of the transactions in one message; a larger transaction is alone in its
message.
"""


class WorkerMessage(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Message; its first element is the name of its class."""

    brings_descriptor: ClassVar[bool] = False
    """True if a descriptor comes with the message."""


class ProcessMetrics(msgspec.Struct, frozen=True, array_like=True):
    """Metrics of one worker or the sum of all, and whether it, or one of them, can take calls."""

    families: list[Family]
    is_ready: bool


class ServeConnection(WorkerMessage, frozen=True):
    """Connection for the worker to serve; its descriptor comes with the message."""

    brings_descriptor = True
    kind: int


class Configure(WorkerMessage, frozen=True):
    """Configuration of the node: the first message to a worker, and sent whenever it was read again."""

    config: bytes
    """The configuration in JSON."""


class Drain(WorkerMessage, frozen=True):
    """Order to end: for a restart of the service, or for good.

    From a worker it is the notice that a signal asked it to end: it waits for the order, and should get no
    more connections.
    """

    restarts: bool
    is_immediate: bool = False
    """True if clients are not waited for; only for a worker that drains."""


class Started(WorkerMessage, frozen=True):
    """Notice of a worker: it can serve connections, or cannot start."""

    failure: str | None = None
    """Reason why it cannot start, in one line."""


class Heartbeat(WorkerMessage, frozen=True):
    """Notice that the event loop of the process runs."""

    ended: int = 0
    """Number of connections of the worker that have ended since its last heartbeat."""
    is_full: bool | None = None
    """True if the worker has no free files for connections, False if it has some again; None if nothing has
    changed.
    """


class MetricsRequest(WorkerMessage, frozen=True):
    """Request for a `MetricsResponse` with this number: of a worker's metrics, or by a worker of all."""

    number: int


class MetricsResponse(WorkerMessage, frozen=True):
    """Metrics of a worker, or the sum of all; the number is that of the request, 0 if there was none."""

    number: int
    report: ProcessMetrics


class PoolUpdateRequest(WorkerMessage, frozen=True):
    """Transactions that the pool of a worker is to add and to drop, or from a worker those of others."""

    number: int
    """Number of the `PoolUpdateResponse` that answers it; 0 if none does."""
    network: str
    added: list[bytes]
    """Encoded transactions."""
    dropped: list[bytes] = []
    """Hashes of transactions that the pool of another machine has dropped; from the process that follows."""
    slot: int | None = None
    """Row of the one worker to which a pool is dumped, None for all others."""


class PoolUpdateResponse(WorkerMessage, frozen=True):
    """Notice of a worker that its pool has the acceptable transactions of the request with this number.

    From the parent: all other workers have them, or are not waited for.
    """

    number: int


class PoolDumpRequest(WorkerMessage, frozen=True):
    """Request for the contents of a worker's pools, as `PoolUpdateRequest`s for the worker with this row."""

    slot: int


class SyncStatus(WorkerMessage, frozen=True):
    """Status of a network for all workers, from the process that follows."""

    network: str
    not_ready_reason: str | None
    """Reason why the network should not be asked now, None if it is ready."""
    peers: int
    """Number of other nodes that are connected."""
    progress: tuple[int, int, int] | None
    """First, present and highest block of the way to the head elsewhere, None at its end."""
    height: int | None
    """Number of the highest block elsewhere, None if that is not known."""


class PendingTransactions(WorkerMessage, frozen=True):
    """Pending transactions of other nodes, for subscribers of all workers."""

    network: str
    encoded: list[bytes]


class SyncRequest(WorkerMessage, frozen=True):
    """Request to the process that follows a network; a `SyncResponse` with its number answers it."""

    number: int
    network: str
    transaction: bytes | None = None
    """Transaction to send to other nodes; None to return the status of the network."""
    slot: int = 0
    """Row of the asking worker, set by the parent so that the answer finds it."""


class SyncResponse(WorkerMessage, frozen=True):
    """Outcome of the `SyncRequest` with this number."""

    number: int
    failure: str | None = None
    """Reason why no node has taken the transaction, None if one has."""
    status: bytes = b""
    """Result of `wsnode_status`; empty if there is none."""
    slot: int = 0


class CorruptStore(WorkerMessage, frozen=True, tag="damaged"):
    """A process has met a damaged row in a store of a network, which all have open.

    From the parent the reason is None once no such process runs any more.
    """

    network: str
    reason: str | None


SyncMessage = SyncStatus | PendingTransactions | SyncRequest | SyncResponse
"""Messages between the process that follows and the workers, through the parent."""
SharedMessage = (
    Drain
    | MetricsRequest
    | MetricsResponse
    | PoolUpdateRequest
    | PoolUpdateResponse
    | CorruptStore
    | SyncMessage
)
"""Messages in both directions."""
ToWorker = ServeConnection | Configure | PoolDumpRequest | SharedMessage
ToParent = Started | Heartbeat | SharedMessage


def parts(encoded: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield transactions in lists of at most `PART_BYTES`, for one message each."""
    part, size = list[bytes](), 0
    for each in encoded:
        if part and size + len(each) > PART_BYTES:
            yield part
            part, size = [], 0
        part.append(each)
        size += len(each)
    if part:
        yield part
