"""Messages between the master and its workers."""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

import msgspec

from wsnode.server.observability.families import Family

FOLLOWS: Final = 0
"""Number of the process that follows other nodes or a journal and writes the chains; it has no clients."""
HEARTBEAT_SECONDS: Final = 1.0
"""Seconds between two heartbeats of a process."""
SILENT_SECONDS: Final = 3.0
"""Seconds without a message after which a process is silent: it is not asked, and gets no connections."""


PART_BYTES: Final = 1 << 20
"""Maximum bytes of transactions in one message; a larger transaction has a message of its own."""


class WorkerMessage(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Base of the messages between the master and other processes, encoded as arrays with the name of the
    class as first element.
    """

    brings_descriptor: ClassVar[bool] = False
    """True if a descriptor comes with the message."""


class ProcessMetrics(msgspec.Struct, frozen=True, array_like=True):
    """Metrics of one worker, or the sum of all; `is_ready` is True if it, or one of them, can take calls."""

    families: list[Family]
    is_ready: bool


class ServeConnection(WorkerMessage, frozen=True):
    """Connection that the master passes to a worker: its descriptor comes with the message, and `kind` is the
    kind of its listener.
    """

    brings_descriptor = True
    kind: int


class Configure(WorkerMessage, frozen=True):
    """Configuration of the node in JSON: the first message to a worker, repeated after each reload."""

    config: bytes


class Drain(WorkerMessage, frozen=True):
    """Order to a worker to end: `restarts` is True for a restart of the service, False for good. A worker
    that received a signal sends this message as well: it waits for the order, and should get no more
    connections.
    """

    restarts: bool
    is_immediate: bool = False
    """True if the end does not wait for clients; only for a worker that drains."""


class Started(WorkerMessage, frozen=True):
    """Report of a worker at its start: `failure` is None if it can serve connections."""

    failure: str | None = None
    """Reason why it cannot start."""


class Heartbeat(WorkerMessage, frozen=True):
    """Report that the event loop of the process runs."""

    ended: int = 0
    """Number of connections of the worker that have ended since its last heartbeat."""
    is_full: bool | None = None
    """True if the worker has no free files for connections, False if it has some again, else None."""


class MetricsRequest(WorkerMessage, frozen=True):
    """Request for metrics, answered by a `MetricsResponse` with the same number. From the master it asks for
    those of one worker, from a worker for those of all.
    """

    number: int


class MetricsResponse(WorkerMessage, frozen=True):
    """Metrics of a worker for the master, or the sum of all for a worker. `number` is that of the request, 0
    if there was none.
    """

    number: int
    report: ProcessMetrics


class PoolUpdateRequest(WorkerMessage, frozen=True):
    """Transactions to add to pools and to drop from them. From the master they are for the receiving worker's
    pool, from a worker for the pools of all others.
    """

    number: int
    """Number of the `PoolUpdateResponse` that answers it; 0 if none does."""
    network: str
    added: list[bytes]
    """Encoded transactions."""
    dropped: list[bytes] = []
    """Hashes of transactions that the pool of another machine has dropped; from the process that follows."""
    slot: int | None = None
    """Slot of the one worker to which a pool is dumped, None for all others."""


class PoolUpdateResponse(WorkerMessage, frozen=True):
    """Answer to the `PoolUpdateRequest` with this number. From a worker: its pool has the acceptable
    transactions. From the master: all other workers have them, or do not answer in time.
    """

    number: int


class PoolDumpRequest(WorkerMessage, frozen=True):
    """Request to a worker for the contents of its pools, sent as `PoolUpdateRequest`s for another worker: the
    one with this slot.
    """

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
    """Request to the process that follows a network, for sending a transaction or for the network's status. A
    `SyncResponse` with its number answers it.
    """

    number: int
    network: str
    transaction: bytes | None = None
    """Transaction to send to other nodes; None to return the status of the network."""
    slot: int = 0
    """Slot of the asking worker, set by the master so that it can route the answer."""


class SyncResponse(WorkerMessage, frozen=True):
    """Outcome of the `SyncRequest` with this number."""

    number: int
    failure: str | None = None
    """Reason why no node has taken the transaction, None if one has."""
    status: bytes = b""
    """Result of `wsnode_status`; empty if there is none."""
    slot: int = 0


class CorruptStore(WorkerMessage, frozen=True, tag="damaged"):
    """Report of a damaged row in a store of a network, which all processes have open.

    From the master, the reason is None once no process that met the row runs any more.
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
