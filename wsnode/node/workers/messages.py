"""Messages between the parent and its workers."""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

import msgspec

from wsnode.server.observability.families import Family

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


class Start(WorkerMessage, frozen=True):
    """First message to a worker; the descriptor of the scoreboard comes with it."""

    brings_descriptor = True
    number: int
    """Number of the worker, from 1 on; 0 for the process that follows."""
    slot: int
    """Row of the worker in the scoreboard."""
    config: bytes
    """The node's configuration in JSON."""
    writes: bool = False
    """True if the process follows and writes the chains, and serves no connections."""


class ServeConnection(WorkerMessage, frozen=True):
    """Connection for the worker to serve; its descriptor comes with the message."""

    brings_descriptor = True
    kind: int


class Configure(WorkerMessage, frozen=True):
    """Configuration that was read again, in JSON."""

    config: bytes


class Drain(WorkerMessage, frozen=True):
    """Order to end: for a restart of the service, or for good."""

    restarts: bool


class Kill(WorkerMessage, frozen=True):
    """Order to a draining worker to end immediately."""


class MetricsRequest(WorkerMessage, frozen=True):
    """Request for a `MetricsResponse` with this number."""

    number: int


class AllMetricsResponse(WorkerMessage, frozen=True):
    """Sum of the metrics of all workers, in answer to the `AllMetricsRequest` with this number."""

    number: int
    report: ProcessMetrics


class Ready(WorkerMessage, frozen=True):
    """Notice that the worker can serve connections."""


class Failed(WorkerMessage, frozen=True):
    """Notice that the worker cannot start, with the reason in one line."""

    reason: str


class Heartbeat(WorkerMessage, frozen=True):
    """Notice that the event loop of the process runs."""


class ConnectionsClosed(WorkerMessage, frozen=True):
    """Number of connections of the worker that have ended since the last such message."""

    connections: int


class FilesExhausted(WorkerMessage, frozen=True):
    """Notice that the worker has no free files for connections, or has some again."""

    is_full: bool


class DrainRequest(WorkerMessage, frozen=True):
    """Notice that a signal asked the worker to end: it waits for `Drain`, and should get no more
    connections.
    """


class MetricsResponse(WorkerMessage, frozen=True):
    """Metrics of the worker; the number is that of the `MetricsRequest`, 0 if it was not asked."""

    number: int
    report: ProcessMetrics


class AllMetricsRequest(WorkerMessage, frozen=True):
    """Request of a worker for the metrics of all."""

    number: int


class BroadcastRequest(WorkerMessage, frozen=True):
    """Request to hand a transaction to all other workers; a `BroadcastResponse` with its number answers
    it.
    """

    number: int
    network: str
    encoded: bytes


class AddTransactionsRequest(WorkerMessage, frozen=True):
    """Transactions for the worker's pool; an `AddTransactionsResponse` with this number answers them."""

    number: int
    network: str
    encoded: list[bytes]


class AddTransactionsResponse(WorkerMessage, frozen=True):
    """Notice that the worker's pool has taken the acceptable transactions of the request with this number."""

    number: int


class BroadcastResponse(WorkerMessage, frozen=True):
    """Notice that all other workers have the transaction of the request with this number, or are not waited
    for.
    """

    number: int


class PoolDumpRequest(WorkerMessage, frozen=True):
    """Request for the contents of a worker's pools, for the new worker with this row."""

    slot: int


class PoolDump(WorkerMessage, frozen=True):
    """Transactions of one pool, for the new worker with this row."""

    slot: int
    network: str
    encoded: list[bytes]


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


class PoolChange(WorkerMessage, frozen=True):
    """Changes copied from the pool of another machine by the process that follows, for all workers."""

    network: str
    encoded: list[bytes]
    dropped: list[bytes]
    """Hashes of the dropped transactions."""


class SendTransactionRequest(WorkerMessage, frozen=True):
    """Request to send a transaction to other nodes; a `SendTransactionResponse` with its number answers
    it.
    """

    number: int
    network: str
    encoded: bytes
    slot: int = 0
    """Row of the asking worker, set by the parent so that the answer finds it."""


class StatusRequest(WorkerMessage, frozen=True):
    """Request for the status of a followed network; a `StatusResponse` with its number answers it."""

    number: int
    network: str
    slot: int = 0


class StatusResponse(WorkerMessage, frozen=True):
    """Result of `wsnode_status` in answer to the `StatusRequest` with this number; empty if there is none."""

    number: int
    status: bytes
    slot: int = 0


class SendTransactionResponse(WorkerMessage, frozen=True):
    """Outcome of the request with this number: None if a node has taken the transaction, else the reason."""

    number: int
    failure: str | None
    slot: int = 0


class CorruptStore(WorkerMessage, frozen=True, tag="damaged"):
    """A process has met a damaged row in a store of a network, which all have open.

    From the parent the reason is None once no such process runs any more.
    """

    network: str
    reason: str | None


SyncMessage = (
    SyncStatus
    | PendingTransactions
    | PoolChange
    | SendTransactionRequest
    | SendTransactionResponse
    | StatusRequest
    | StatusResponse
)
"""Messages between the process that follows and the workers, through the parent."""
ToWorker = (
    Start
    | ServeConnection
    | Configure
    | Drain
    | Kill
    | MetricsRequest
    | AllMetricsResponse
    | AddTransactionsRequest
    | BroadcastResponse
    | PoolDumpRequest
    | CorruptStore
    | SyncMessage
)
ToParent = (
    Ready
    | Failed
    | Heartbeat
    | FilesExhausted
    | ConnectionsClosed
    | DrainRequest
    | MetricsResponse
    | AllMetricsRequest
    | BroadcastRequest
    | AddTransactionsResponse
    | PoolDump
    | CorruptStore
    | SyncMessage
)


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
