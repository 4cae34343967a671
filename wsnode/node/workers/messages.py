"""The messages between the parent and its workers."""

import msgspec


class Message(msgspec.Struct, frozen=True, array_like=True):
    """One message; its type is its first element."""


class Start(Message, frozen=True, tag="start"):
    """The first message to a worker: its number, from 1 on, and the node's configuration in JSON."""

    number: int
    config: bytes


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


class Ready(Message, frozen=True, tag="ready"):
    """The worker can serve connections."""


class Failed(Message, frozen=True, tag="failed"):
    """The worker cannot start; one line."""

    reason: str


class Left(Message, frozen=True, tag="left"):
    """So many of the connections that were passed to the worker have ended."""

    connections: int


class Leaving(Message, frozen=True, tag="leaving"):
    """The worker was told by a signal to end, and waits for `Drain`: it should get no more connections."""


ToWorker = Start | Passed | Configure | Drain | Hurry
ToParent = Ready | Failed | Left | Leaving
