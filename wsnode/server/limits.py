"""Bounds of the server with their defaults; `rpc_limits` and docs/reference/limits.md list all of them."""

import msgspec

from wsnode.jsonrpc.session_limits import (
    Bytes,
    Count,
    CountOrZero,
    MessageBytes,
    Seconds,
    SecondsOrZero,
    SessionBounds,
)

KIB = 1024
MIB = 1024 * KIB
MAX_VERSIONS = 16_384
"""Versions of a store that all processes of a folder together can read (native/src/store/file.rs)."""
RESERVED_FILES = 64
DIVIDED = ("connections", "operators_connections", "calls", "output_bytes", "input_bytes", "threads")
"""Bounds that are divided among several processes."""


class Limits(SessionBounds, frozen=True, kw_only=True):
    """Bounds of one server, with those of its sessions; sizes in bytes, times in seconds."""

    connections: Count = 20_000
    """Connections: those open at the same time; never more than the files of each process (`ulimit -n`,
    raised by a node as far as the system permits), less a quarter or 64 of them. Beyond it: HTTP 503 with
    Retry-After.
    """
    operators_connections: Count = 100
    """Connections: those open at the same time on the address of `[metrics]`, apart from the others. Beyond
    it: HTTP 503 with Retry-After.
    """
    head_bytes: MessageBytes = 16 * KIB
    """Bytes: the head of each request or handshake. Beyond it: HTTP 431."""
    head_seconds: Seconds = 10.0
    """Seconds: the time of a new connection for its first head. Beyond it: HTTP 408; a client that sent
    nothing gets no response.
    """
    idle_seconds: Seconds = 120.0
    """Seconds: the silence of an HTTP connection between requests, or within one. Beyond it: it is closed."""
    body_bytes: MessageBytes = 5 * MIB
    """Bytes: an HTTP body, decompressed. Beyond it: HTTP 413."""
    body_seconds: Seconds = 60.0
    """Seconds: the time of a body to arrive. Beyond it: HTTP 408."""
    message_bytes: MessageBytes = 5 * MIB
    """Bytes: a WebSocket message, decompressed. Beyond it: close 1009."""
    message_seconds: Seconds = 60.0
    """Seconds: the time of a WebSocket message to arrive. Beyond it: close 1008."""
    subscriptions: CountOrZero = 1000
    """Subscriptions: open subscriptions of a connection. Beyond it: `subscription limit exceeded`."""
    all_subscriptions: CountOrZero = 200_000
    """Subscriptions: open subscriptions of the whole process. Beyond it: `too many subscriptions`."""
    live_calls: CountOrZero = 200_000
    """Accounts, slots and calls: what the subscriptions to `state` and `calls` of the whole process name, of
    all networks. Beyond it: `too many live calls`, data `{limit}`.

    Each takes about 400 bytes.
    """
    calls_per_connection: Count = 256
    """Calls: slow calls in flight on a connection. Beyond it: `too many calls in flight`."""
    call_bytes: MessageBytes = 32 * MIB
    """Bytes: the messages of slow calls in flight on a connection, each counted twice: what is read of it
    takes about as much (in a short batch: 256 bytes a call). Beyond it: `too many calls in flight`.
    """
    calls: Count = 4096
    """Calls: slow calls in flight in the whole process. Beyond it: `too many calls in flight`."""
    outbox_bytes: MessageBytes = 4 * MIB
    """Bytes: replies and notifications that wait for one client to read. Beyond it: no further request of
    that client begins until it reads; its subscriptions fall behind; of its slow calls, whose partial results
    count too, only the first continues.
    """
    output_bytes: MessageBytes = 256 * MIB
    """Bytes: replies and notifications that wait for all clients, and partial results of slow calls. Beyond
    it: as beyond `outbox_bytes`, for each client beyond its share; if calls hold most of it, one of them is
    refused: -32005 `too many bytes of replies are being made, try again`; HTTP 503.
    """
    input_bytes: MessageBytes = 128 * MIB
    """Bytes: messages and bodies of all clients that are unfinished, read ahead, or of calls in flight; half
    of it for one client. Beyond it: of the client with most of them, if it has more than 64 KiB,
    the largest connection: close 1013, or HTTP 503.
    """
    read_ahead_bytes: MessageBytes = 1 * MIB
    """Bytes: requests of a client read ahead while its outbox is full. Beyond it: nothing more is read until
    the client reads.

    So pings and closes are still seen.
    """
    fragment_bytes: MessageBytes = 256 * KIB
    """Bytes: one frame of a reply. Beyond it: the reply is sent in fragments.

    A pong can pass between two fragments.
    """
    deflate_bytes: Bytes = 1 * KIB
    """Bytes: replies that are never compressed. Beyond it: compressed, if the client negotiated compression.
    """
    deflate_inline_bytes: Bytes = 64 * KIB
    """Bytes: replies that are compressed immediately. Beyond it: compressed in a thread."""
    ping_seconds: Seconds = 30.0
    """Seconds: the pause between two pings on a WebSocket connection. Beyond it: a client that has sent
    nothing by the next ping is cut off.
    """
    close_seconds: Seconds = 5.0
    """Seconds: the time of a client to answer a close. Beyond it: the connection ends without an answer."""
    close_on_shutdown_seconds: Seconds = 1.0
    """Seconds: the time to answer a close when the server stops, for a client with an empty outbox. Beyond
    it: the connection ends without an answer.
    """
    drain_seconds: SecondsOrZero = 10.0
    """Seconds: the time of calls in flight, and of events on the way, when the server stops. Beyond it: calls
    end unanswered; subscriptions with notices get their position.
    """
    threads: Count = 16
    """Threads: long work outside the main thread. Beyond it: it waits its turn; connections take turns, and
    compression has two threads of its own. Of calls that run for more than 2 ms no more compute at a time
    than there are cores, by turns of 2 ms. Of one connection's calls the one that began first has its turns
    first, and its quick requests wait for one turn of them at most. For the wait see `call_wait_seconds`.

    More than there are cores, so that a short call runs beside long ones.
    """

    @property
    def ending_seconds(self) -> float:
        """Return the maximum number of seconds that a server may take to end."""
        return self.drain_seconds + 2 * self.close_seconds

    def share(self, processes: int) -> "Limits":
        """Return the bounds of one of several processes that serve the same clients.

        Bounds of the whole machine are divided among the processes; those of one client, message or call are
        kept.
        """
        shares = {name: max(1, getattr(self, name) // processes) for name in DIVIDED}
        versions = min(self.versions, MAX_VERSIONS // (2 * processes))
        return self if processes == 1 else msgspec.structs.replace(self, **shares, versions=versions)

    def within(self, files: int) -> "Limits":
        """Return the bounds for processes that can open `files` more files together.

        A quarter of the files, 64 at most, is left for files other than connections, and for refused
        connections.
        """
        room = max(2, files - min(RESERVED_FILES, files // 4))
        if self.connections + self.operators_connections <= room:
            return self
        operators = min(self.operators_connections, max(1, room // 8))
        connections = min(self.connections, room - operators)
        return msgspec.structs.replace(self, connections=connections, operators_connections=operators)
