"""The messages between the parent and its workers."""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

import msgspec

from wsnode.server.observability.families import Family

HEARTBEAT_SECONDS: Final = 1.0
"""The pause between two heartbeats of a process."""
SILENT_SECONDS: Final = 3.0
"""A process from which nothing was heard for this time is silent: nobody waits for it or gives it more."""


PART_BYTES: Final = 1 << 20
"""The transactions of one message, in bytes; a larger one is alone."""


class WorkerMessage(msgspec.Struct, frozen=True, array_like=True):
    """One message; its type is its first element."""

    brings_descriptor: ClassVar[bool] = False
    """Whether a descriptor comes with it."""


class ProcessMetrics(msgspec.Struct, frozen=True, array_like=True):
    """What a worker has counted, or what all have, and whether it can take calls, or one of them can."""

    families: list[Family]
    is_ready: bool


class Start(WorkerMessage, frozen=True, tag="start"):
    """The first message to a worker; the descriptor of the ledger comes with it."""

    brings_descriptor = True
    number: int
    """From 1 on."""
    slot: int
    """Its row in the ledger."""
    config: bytes
    """The node's configuration in JSON."""
    writes: bool = False
    """Whether it follows and writes the chains, and serves no connections."""


class ServeConnection(WorkerMessage, frozen=True, tag="passed"):
    """A connection for the worker to serve; its descriptor comes with the message."""

    brings_descriptor = True
    kind: int


class Configure(WorkerMessage, frozen=True, tag="configure"):
    """A configuration that was read again, in JSON."""

    config: bytes


class Drain(WorkerMessage, frozen=True, tag="drain"):
    """The worker is to end: for a restart of the service, or for good."""

    restarts: bool


class Kill(WorkerMessage, frozen=True, tag="hurry"):
    """A worker that drains is to end at once."""


class MetricsRequest(WorkerMessage, frozen=True, tag="tell"):
    """The worker is to send a `MetricsResponse` with this number."""

    number: int


class AllMetricsResponse(WorkerMessage, frozen=True, tag="summed"):
    """The answer to an `AllMetricsRequest` with this number: about all workers."""

    number: int
    report: ProcessMetrics


class Ready(WorkerMessage, frozen=True, tag="ready"):
    """The worker can serve connections."""


class Failed(WorkerMessage, frozen=True, tag="failed"):
    """The worker cannot start; one line."""

    reason: str


class Heartbeat(WorkerMessage, frozen=True, tag="heartbeat"):
    """The event loop of the process runs."""


class ConnectionsClosed(WorkerMessage, frozen=True, tag="left"):
    """A number of the connections that were passed to the worker have ended."""

    connections: int


class FilesExhausted(WorkerMessage, frozen=True, tag="full"):
    """The worker has no free files for connections, or has some again."""

    is_full: bool


class DrainRequest(WorkerMessage, frozen=True, tag="leaving"):
    """A signal asked the worker to end, and it waits for `Drain`: it should get no more connections."""


class MetricsResponse(WorkerMessage, frozen=True, tag="told"):
    """What the worker has counted by now; the number is that of a `MetricsRequest`, 0 without one."""

    number: int
    report: ProcessMetrics


class AllMetricsRequest(WorkerMessage, frozen=True, tag="ask"):
    """The worker wants to know what all have counted."""

    number: int


class BroadcastRequest(WorkerMessage, frozen=True, tag="spread"):
    """All other workers are to take a transaction; the parent answers with a `BroadcastResponse` of this
    number.
    """

    number: int
    network: str
    encoded: bytes


class AddTransactionsRequest(WorkerMessage, frozen=True, tag="bring"):
    """The worker is to take transactions that others have, and to answer with an `AddTransactionsResponse` of
    this number.
    """

    number: int
    network: str
    encoded: list[bytes]


class AddTransactionsResponse(WorkerMessage, frozen=True, tag="took"):
    """The worker has taken the transactions of the request with this number that its pool accepts."""

    number: int


class BroadcastResponse(WorkerMessage, frozen=True, tag="done"):
    """What was spread with this number has arrived everywhere."""

    number: int


class PoolDumpRequest(WorkerMessage, frozen=True, tag="lend"):
    """The worker is to say what is in its pools, for the new worker with this row."""

    slot: int


class PoolDump(WorkerMessage, frozen=True, tag="lent"):
    """The transactions of one pool, for the new worker with this row."""

    slot: int
    network: str
    encoded: list[bytes]


class SyncStatus(WorkerMessage, frozen=True, tag="standing"):
    """How a network stands, from the process that follows; for all workers."""

    network: str
    not_ready_reason: str | None
    """Why it should not be asked now."""
    peers: int
    """How many other nodes there are."""
    progress: tuple[int, int, int] | None
    """The first, the present and the highest block of the way to the head elsewhere, None at its end."""
    height: int | None
    """How high the chain is elsewhere, None if that is not known."""


class PendingTransactions(WorkerMessage, frozen=True, tag="heard"):
    """Pending transactions of other nodes, for subscribers of all workers."""

    network: str
    encoded: list[bytes]


class PoolChange(WorkerMessage, frozen=True, tag="pooled"):
    """What the process that follows has taken from pools of other machines; workers take it too."""

    network: str
    encoded: list[bytes]
    dropped: list[bytes]
    """The hashes of what it has dropped."""


class SendTransactionRequest(WorkerMessage, frozen=True, tag="send"):
    """Other nodes are to take a transaction; the answer is a `SendTransactionResponse` of this number."""

    number: int
    network: str
    encoded: bytes
    slot: int = 0
    """The row of the worker that asks, for the answer to find it; the parent knows it."""


class StatusRequest(WorkerMessage, frozen=True, tag="inquire"):
    """A worker wants to know how a network is followed; the answer is a `StatusResponse` of this number."""

    number: int
    network: str
    slot: int = 0


class StatusResponse(WorkerMessage, frozen=True, tag="found"):
    """The answer to an `StatusRequest` with this number: the result of `wsnode_status`."""

    number: int
    status: bytes
    slot: int = 0


class SendTransactionResponse(WorkerMessage, frozen=True, tag="sent"):
    """The outcome of the request with this number: None if a node has taken it, else why none has."""

    number: int
    failure: str | None
    slot: int = 0


SyncMessage = (
    SyncStatus
    | PendingTransactions
    | PoolChange
    | SendTransactionRequest
    | SendTransactionResponse
    | StatusRequest
    | StatusResponse
)
"""What goes through the parent between the process that follows and the workers."""
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
    | SyncMessage
)


def parts(encoded: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield transactions in lists for one message each."""
    part, size = list[bytes](), 0
    for each in encoded:
        if part and size + len(each) > PART_BYTES:
            yield part
            part, size = [], 0
        part.append(each)
        size += len(each)
    if part:
        yield part
