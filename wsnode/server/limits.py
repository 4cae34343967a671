"""Every bound of the server, with its default; `rpc_limits` and docs/reference/limits.md list them too."""

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
"""Versions of a store that all processes of a folder can read at once (native/src/store/file.rs)."""
SPARE_FILES = 64
DIVIDED = ("connections", "operators_connections", "calls", "output_bytes", "input_bytes", "threads")
"""The bounds of which each of several processes has a part."""


class Limits(SessionBounds, frozen=True, kw_only=True):
    """The bounds of one server, those of its sessions among them; sizes in bytes, times in seconds."""

    connections: Count = 20_000
    """Open connections; one more gets 503 and is closed."""
    operators_connections: Count = 100
    """Open connections on the operators' address; one more gets 503 and is closed."""
    head_bytes: MessageBytes = 16 * KIB
    """The head of an HTTP request or handshake; a larger one gets 431."""
    head_seconds: Seconds = 10.0
    """The time a new connection has for its first head."""
    idle_seconds: Seconds = 120.0
    """The time an HTTP connection may stay silent between requests."""
    body_bytes: MessageBytes = 5 * MIB
    """An HTTP body, also after decompression; a larger one gets 413."""
    body_seconds: Seconds = 60.0
    """The time a body has to arrive."""
    message_bytes: MessageBytes = 5 * MIB
    """A WebSocket message, also after decompression; a larger one closes with 1009."""
    message_seconds: Seconds = 60.0
    """The time a WebSocket message has to arrive; a slower one closes with 1008."""
    subscriptions: CountOrZero = 1000
    """Open subscriptions of one connection; one more gets -32005."""
    all_subscriptions: CountOrZero = 200_000
    """Open subscriptions of the whole process; one more gets -32005."""
    live_calls: CountOrZero = 200_000
    """Accounts, slots and calls that the subscriptions of the whole process watch, about 400 bytes each; half
    of them for one client, and one more gets -32005."""
    calls_per_connection: Count = 256
    """Slow calls in flight on one connection; one more gets -32005."""
    call_bytes: MessageBytes = 32 * MIB
    """The messages of slow calls in flight on one connection, and their decoded parameters, which count as
    much; above it one more gets -32005."""
    calls: Count = 4096
    """Slow calls in flight in the whole process; one more gets -32005."""
    outbox_bytes: MessageBytes = 4 * MIB
    """Replies that wait for one client to read; above it no further request of that client is begun."""
    output_bytes: MessageBytes = 256 * MIB
    """Replies that wait for all clients together, and what calls hold of theirs; half of it for one client,
    and above it 64 KiB for each until others have read."""
    input_bytes: MessageBytes = 128 * MIB
    """Messages and bodies of all clients that are unfinished, or whose calls are in flight, half for one
    client; above it the largest connection of the client with most of them gets 1013 or 503."""
    read_ahead_bytes: MessageBytes = 1 * MIB
    """Requests read ahead while the outbox is full, so that pings and closes are still seen."""
    fragment_bytes: MessageBytes = 256 * KIB
    """A larger reply is sent in fragments of this size, so that a pong can pass between them."""
    deflate_bytes: Bytes = 1 * KIB
    """Smaller replies are not compressed."""
    deflate_inline_bytes: Bytes = 64 * KIB
    """Larger replies are compressed in a worker thread."""
    ping_seconds: Seconds = 30.0
    """The pause between two pings; a client that has sent nothing by the next one is cut off."""
    close_seconds: Seconds = 5.0
    """The time a client has to answer a close."""
    close_on_shutdown_seconds: Seconds = 1.0
    """The time a client has to answer a close when the server stops, if nothing waits for it."""
    drain_seconds: SecondsOrZero = 10.0
    """The time that calls in flight have to end when the server stops."""
    threads: Count = 16
    """Worker threads for long calls; more than cores, so that a short call runs beside long ones instead of
    waiting for their end."""

    @property
    def ending_seconds(self) -> float:
        """Return the longest time of all that a server does before it ends, in seconds."""
        return self.drain_seconds + 2 * self.close_seconds

    def share(self, processes: int) -> "Limits":
        """Return the bounds of one of several processes that serve the same clients.

        What would count on the whole machine is divided among them; what is one client's, message's or call's
        stays as it is.
        """
        shares = {name: max(1, getattr(self, name) // processes) for name in DIVIDED}
        versions = min(self.versions, MOST_VERSIONS // (2 * processes))
        return self if processes == 1 else msgspec.structs.replace(self, **shares, versions=versions)

    def within(self, files: int) -> "Limits":
        """Return the bounds for processes that can open so many more files together.

        A quarter of the files, 64 at most, is left for what is no connection, and for those that are refused.
        """
        room = max(2, files - min(SPARE_FILES, files // 4))
        if self.connections + self.operators_connections <= room:
            return self
        operators = min(self.operators_connections, max(1, room // 8))
        connections = min(self.connections, room - operators)
        return msgspec.structs.replace(self, connections=connections, operators_connections=operators)
