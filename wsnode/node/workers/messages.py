"""The messages between the parent and its workers."""

import msgspec

from wsnode.server.upkeep.families import Family


class Message(msgspec.Struct, frozen=True, array_like=True):
    """One message; its type is its first element."""


class Report(msgspec.Struct, frozen=True, array_like=True):
    """What a worker has counted, or what all have, and whether it can take calls, or one of them can."""

    families: list[Family]
    is_ready: bool


class Start(Message, frozen=True, tag="start"):
    """The first message to a worker; the descriptor of the ledger comes with it."""

    number: int
    """From 1 on."""
    row: int
    """Its row in the ledger."""
    config: bytes
    """The node's configuration in JSON."""
    writes: bool = False
    """Whether it follows and writes the chains, and serves no connections."""


class Passed(Message, frozen=True, tag="passed"):
    """A connection for the worker to serve; its descriptor comes with the message."""

    door: int


class Configure(Message, frozen=True, tag="configure"):
    """A configuration that was read again, in JSON."""

    config: bytes


class Drain(Message, frozen=True, tag="drain"):
    """The worker is to end: for a restart of the service, or for good."""

    restarts: bool


class Hurry(Message, frozen=True, tag="hurry"):
    """A worker that drains is to end at once."""


class Tell(Message, frozen=True, tag="tell"):
    """The worker is to send a `Told` with this number."""

    number: int


class Summed(Message, frozen=True, tag="summed"):
    """The answer to an `Ask` with this number: about all workers."""

    number: int
    report: Report


class Ready(Message, frozen=True, tag="ready"):
    """The worker can serve connections."""


class Failed(Message, frozen=True, tag="failed"):
    """The worker cannot start; one line."""

    reason: str


class Left(Message, frozen=True, tag="left"):
    """A number of the connections that were passed to the worker have ended."""

    connections: int


class Leaving(Message, frozen=True, tag="leaving"):
    """A signal asked the worker to end, and it waits for `Drain`: it should get no more connections."""


class Told(Message, frozen=True, tag="told"):
    """What the worker has counted by now; the number is that of a `Tell`, 0 without one."""

    number: int
    report: Report


class Ask(Message, frozen=True, tag="ask"):
    """The worker wants to know what all have counted."""

    number: int


class Spread(Message, frozen=True, tag="spread"):
    """All other workers are to take a transaction; the parent answers with a `Done` of this number."""

    number: int
    network: str
    encoded: bytes


class Bring(Message, frozen=True, tag="bring"):
    """The worker is to take transactions that others have, and to answer with a `Took` of this number."""

    number: int
    network: str
    encoded: list[bytes]


class Took(Message, frozen=True, tag="took"):
    """The worker has taken what a `Bring` with this number brought, as far as its pool takes it."""

    number: int


class Done(Message, frozen=True, tag="done"):
    """What was spread with this number has arrived everywhere."""

    number: int


class Lend(Message, frozen=True, tag="lend"):
    """The worker is to say what is in its pools, for the new worker with this row."""

    row: int


class Lent(Message, frozen=True, tag="lent"):
    """The transactions of one pool, for the new worker with this row."""

    row: int
    network: str
    encoded: list[bytes]


class Standing(Message, frozen=True, tag="standing"):
    """How a network stands, from the process that follows; for all workers."""

    network: str
    hindrance: str | None
    """Why it should not be asked now."""
    peers: int
    """How many other nodes there are."""
    progress: tuple[int, int, int] | None
    """The first, the present and the highest block of the way to the head elsewhere, None at its end."""
    height: int | None
    """How high the chain is elsewhere, None if that is not known."""


class Heard(Message, frozen=True, tag="heard"):
    """Pending transactions of other nodes, for subscribers of all workers."""

    network: str
    encoded: list[bytes]


class Pooled(Message, frozen=True, tag="pooled"):
    """What the process that follows has taken from pools of other machines; workers take it too."""

    network: str
    encoded: list[bytes]
    dropped: list[bytes]
    """The hashes of what it has dropped."""


class Send(Message, frozen=True, tag="send"):
    """Other nodes are to take a transaction; the answer is a `Sent` of this number."""

    number: int
    network: str
    encoded: bytes
    row: int = 0
    """The row of the worker that asks, for the answer to find it; the parent knows it."""


class Inquire(Message, frozen=True, tag="inquire"):
    """A worker wants to know how a network is followed; the answer is a `Found` of this number."""

    number: int
    network: str
    row: int = 0


class Found(Message, frozen=True, tag="found"):
    """The answer to an `Inquire` with this number: the result of `wsnode_status`."""

    number: int
    status: bytes
    row: int = 0


class Sent(Message, frozen=True, tag="sent"):
    """What became of a `Send` with this number: None if a node has taken it, else why none has."""

    number: int
    failure: str | None
    row: int = 0


OfFollowing = Standing | Heard | Pooled | Send | Sent | Inquire | Found
"""What goes through the parent between the process that follows and the workers."""
ToWorker = Start | Passed | Configure | Drain | Hurry | Tell | Summed | Bring | Done | Lend | OfFollowing
ToParent = Ready | Failed | Left | Leaving | Told | Ask | Spread | Took | Lent | OfFollowing
