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
MOST_VERSIONS = 16_384
"""Versions of a store that all processes of a folder together can read (native/src/store/file.rs)."""
SPARE_FILES = 64
DIVIDED = ("connections", "operators_connections", "calls", "output_bytes", "input_bytes", "threads")
"""Bounds that are divided among several processes."""


class Limits(SessionBounds, frozen=True, kw_only=True):
    """Bounds of one server, with those of its sessions; sizes in bytes, times in seconds."""

    connections: Count = 20_000
    """Open connections; a further one gets 503 and is closed."""
    operators_connections: Count = 100
    """Open connections on the operators' address; a further one gets 503 and is closed."""
    head_bytes: MessageBytes = 16 * KIB
    """Bytes of the head of an HTTP request or handshake; a larger one gets 431."""
    head_seconds: Seconds = 10.0
    """Seconds for the first head of a new connection to arrive."""
    idle_seconds: Seconds = 120.0
    """Seconds that an HTTP connection may be silent between requests."""
    body_bytes: MessageBytes = 5 * MIB
    """Bytes of an HTTP body, also after decompression; a larger one gets 413."""
    body_seconds: Seconds = 60.0
    """Seconds for a body to arrive."""
    message_bytes: MessageBytes = 5 * MIB
    """Bytes of a WebSocket message, also after decompression; a larger one closes with 1009."""
    message_seconds: Seconds = 60.0
    """Seconds for a WebSocket message to arrive; a slower one closes with 1008."""
    subscriptions: CountOrZero = 1000
    """Open subscriptions of one connection; a further one gets -32005."""
    all_subscriptions: CountOrZero = 200_000
    """Open subscriptions of all processes; a further one gets -32005."""
    live_calls: CountOrZero = 200_000
    """Accounts, slots and calls that all subscriptions of the process watch, about 400 bytes each. One client
    may have half of them; a further one gets -32005.
    """
    calls_per_connection: Count = 256
    """Slow calls in flight on one connection; a further one gets -32005."""
    call_bytes: MessageBytes = 32 * MIB
    """Bytes of the messages of slow calls in flight on one connection, and of their decoded parameters, which
    count as much; above this a further call gets -32005.
    """
    calls: Count = 4096
    """Slow calls in flight in the process; a further one gets -32005."""
    outbox_bytes: MessageBytes = 4 * MIB
    """Bytes of replies that wait for one client to read; above this no further request of the client
    begins.
    """
    output_bytes: MessageBytes = 256 * MIB
    """Bytes of replies that wait for all clients to read, and of results in the making. One client may have
    half of them; above the bound each client gets 64 KiB until others have read.
    """
    input_bytes: MessageBytes = 128 * MIB
    """Bytes of unfinished messages and bodies of all clients, and of those whose calls are in flight. One
    client may have half of them; above the bound the largest connection of the client with the most gets 1013
    or 503.
    """
    read_ahead_bytes: MessageBytes = 1 * MIB
    """Bytes of requests read while the outbox is full, so that pings and closes are still seen."""
    fragment_bytes: MessageBytes = 256 * KIB
    """Bytes of a fragment: a larger reply is sent in fragments, so that a pong can pass between them."""
    deflate_bytes: Bytes = 1 * KIB
    """Bytes from which a reply is compressed."""
    deflate_inline_bytes: Bytes = 64 * KIB
    """Bytes above which a reply is compressed in a worker thread."""
    ping_seconds: Seconds = 30.0
    """Seconds between two pings; a client that has sent nothing by the next ping is cut off."""
    close_seconds: Seconds = 5.0
    """Seconds for a client to answer a close."""
    close_on_shutdown_seconds: Seconds = 1.0
    """Seconds for a client to answer a close when the server stops and nothing waits for the client."""
    drain_seconds: SecondsOrZero = 10.0
    """Seconds for calls in flight to end when the server stops."""
    threads: Count = 16
    """Worker threads for long calls; more than cores, so that a short call runs beside long ones."""

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
        versions = min(self.versions, MOST_VERSIONS // (2 * processes))
        return self if processes == 1 else msgspec.structs.replace(self, **shares, versions=versions)

    def within(self, files: int) -> "Limits":
        """Return the bounds for processes that can open `files` more files together.

        A quarter of the files, 64 at most, is left for files other than connections, and for refused
        connections.
        """
        room = max(2, files - min(SPARE_FILES, files // 4))
        if self.connections + self.operators_connections <= room:
            return self
        operators = min(self.operators_connections, max(1, room // 8))
        connections = min(self.connections, room - operators)
        return msgspec.structs.replace(self, connections=connections, operators_connections=operators)
