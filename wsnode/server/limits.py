"""Every bound of the server, with its default; `rpc_limits` and docs/limits.md list them too."""

import msgspec

from wsnode.jsonrpc.bounds import Allowance, Bounds, Bytes, Count, Patience, Room, Seconds

KIB = 1024
MIB = 1024 * KIB
MOST_VERSIONS = 16_384
"""Versions of a store that all processes of a folder can read at once (native/src/store/file.rs)."""
DIVIDED = ("connections", "operators_connections", "calls", "waiting_bytes", "received_bytes", "threads")
"""The bounds of which each of several processes has a part."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of one server; sizes in bytes, times in seconds."""

    connections: Count = 20_000
    """Open connections; one more gets 503 and is closed."""
    operators_connections: Count = 100
    """Open connections on the operators' address; one more gets 503 and is closed."""
    head_bytes: Room = 16 * KIB
    """The head of an HTTP request or handshake; a larger one gets 431."""
    head_seconds: Seconds = 10.0
    """The time a new connection has for its first head."""
    idle_seconds: Seconds = 120.0
    """The time an HTTP connection may stay silent between requests."""
    body_bytes: Room = 5 * MIB
    """An HTTP body, also after decompression; a larger one gets 413."""
    body_seconds: Seconds = 60.0
    """The time a body has to arrive."""
    message_bytes: Room = 5 * MIB
    """A WebSocket message, also after decompression; a larger one closes with 1009."""
    message_seconds: Seconds = 60.0
    """The time a WebSocket message has to arrive; a slower one closes with 1008."""
    parameter_values: Count = 100_000
    """JSON values in the parameters of one call, names of members among them; more get -32602."""
    batch_items: Count = 1000
    """Calls in one batch."""
    batch_reply_bytes: Room = 25_000_000
    """The reply to one batch; the call that crosses it and all later ones get -32003."""
    batch_seconds: Seconds = 60.0
    """The time of one batch; the calls that are left then get -32002."""
    reply_bytes: Room = 64 * MIB
    """The reply to one call; a larger one becomes -32003."""
    subscriptions: Allowance = 1000
    """Open subscriptions of one connection; one more gets -32005."""
    all_subscriptions: Allowance = 200_000
    """Open subscriptions of the whole process; one more gets -32005."""
    calls_per_connection: Count = 256
    """Slow calls in flight on one connection; one more gets -32005."""
    call_bytes: Room = 32 * MIB
    """The messages of slow calls in flight on one connection, and their decoded parameters, which count as
    much; above it one more gets -32005."""
    calls: Count = 4096
    """Slow calls in flight in the whole process; one more gets -32005."""
    outbox_bytes: Room = 4 * MIB
    """Replies that wait for one client to read; above it no further request of that client is begun."""
    waiting_bytes: Room = 256 * MIB
    """Replies that wait for all clients together, and what calls hold of theirs; half of it for one client,
    and above it 64 KiB for each until others have read."""
    received_bytes: Room = 128 * MIB
    """Messages and bodies of all clients that are unfinished, or whose calls are in flight, half for one
    client; above it the largest connection of the client with most of them gets 1013 or 503."""
    inbox_bytes: Room = 1 * MIB
    """Requests read ahead while the outbox is full, so that pings and closes are still seen."""
    fragment_bytes: Room = 256 * KIB
    """A larger reply is sent in fragments of this size, so that a pong can pass between them."""
    deflate_bytes: Bytes = 1 * KIB
    """Smaller replies are not compressed."""
    deflate_inline_bytes: Bytes = 64 * KIB
    """Larger replies are compressed in a worker thread."""
    ping_seconds: Seconds = 30.0
    """The pause between two pings; a client that has sent nothing by the next one is cut off."""
    close_seconds: Seconds = 5.0
    """The time a client has to answer a close."""
    farewell_seconds: Seconds = 1.0
    """The time a client has to answer a close when the server stops, if nothing waits for it."""
    grace_seconds: Patience = 10.0
    """The time that calls in flight have to end when the server stops."""
    threads: Count = 16
    """Worker threads for long calls; more than cores, so that a short call runs beside long ones instead of
    waiting for their end."""
    versions: Count = 1000
    """Versions of a chain that calls in flight read at once; one more is refused with -32005."""
    slice_seconds: Seconds = 0.002
    """The time of one connection's quick calls in one turn."""
    slow_seconds: Patience = 1.0
    """Calls that take longer are logged."""

    @property
    def ending_seconds(self) -> float:
        """Return the longest time of all that a server does before it ends, in seconds."""
        return self.grace_seconds + 2 * self.close_seconds

    def share(self, processes: int) -> "Limits":
        """Return the bounds of one of several processes that serve the same clients.

        What would count on the whole machine is divided among them; what is one client's, message's or call's
        stays as it is.
        """
        shares = {name: max(1, getattr(self, name) // processes) for name in DIVIDED}
        versions = min(self.versions, MOST_VERSIONS // (2 * processes))
        return self if processes == 1 else msgspec.structs.replace(self, **shares, versions=versions)

    def bounds(self) -> Bounds:
        """Return those that the dispatcher keeps."""
        return Bounds(
            batch_items=self.batch_items,
            batch_reply_bytes=self.batch_reply_bytes,
            batch_seconds=self.batch_seconds,
            parameter_values=self.parameter_values,
            reply_bytes=self.reply_bytes,
            slice_seconds=self.slice_seconds,
            slow_seconds=self.slow_seconds,
            versions=self.versions,
        )
