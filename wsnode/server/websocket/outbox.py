"""Bytes to send on one connection, in order, with pings and pongs first."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import trio

from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.jsonrpc.work import Reply, pieces_of, size_of
from wsnode.server.scheduling.memory_quota import GUARANTEED_BYTES, MemoryQuota
from wsnode.server.transport.transport import Transport
from wsnode.server.websocket.frames import text_frame

TURN_BYTES = 512 * 1024
"""Bytes of replies in one turn."""


class LargeReply:
    """Reply that is sent in fragments, each made when it can be sent."""

    __slots__ = ("_compressed", "_fragment_bytes", "_has_begun", "_pieces", "_rest", "size")

    def __init__(self, payload: Reply, fragment_bytes: int, *, compressed: bool) -> None:
        self._compressed = compressed
        self._pieces = deque(pieces_of(payload))
        self._rest = memoryview(b"")
        """Unsent rest of the piece whose beginning has been sent."""
        self._fragment_bytes = fragment_bytes
        self._has_begun = False
        self.size = size_of(payload)
        """Bytes of the message, compressed or not."""

    def next_frame(self) -> tuple[bytes, bool]:
        """Return the next fragment, and True if it is the last."""
        parts = self._take(self._fragment_bytes)
        continued, self._has_begun = self._has_begun, True
        last = not self._has_more()
        return text_frame(*parts, continued=continued, final=last, compressed=self._compressed), last

    def _take(self, size: int) -> list[memoryview]:
        """Return the next `size` bytes in parts, or all that are left."""
        parts = []
        while size and self._has_more():
            parts.append(part := self._rest[:size])
            self._rest = self._rest[len(part) :]
            size -= len(part)
        return parts

    def _has_more(self) -> bool:
        """Return True if bytes are left; `_rest` then has the first of them."""
        # The memoryviews are made one by one, because a view of each piece from the beginning would take 200
        # bytes for each.
        while not self._rest and self._pieces:
            self._rest = memoryview(self._pieces.popleft())
        return bool(self._rest)


class Outbox:
    """Queue of the frames that a connection has to send. A frame is sent without waiting if none are queued,
    else by `drain`.
    """

    __slots__ = (
        "_aside",
        "_client",
        "_current",
        "_half_sent",
        "_is_closed",
        "_quota",
        "_room",
        "_transport",
        "_urgent",
        "_waiting",
        "limit",
        "output_bytes",
        "progressed",
    )

    def __init__(self, transport: Transport, limit: int, quota: MemoryQuota, client: ClientId) -> None:
        self._transport = transport
        self._quota = quota
        self._client = client
        self.limit = limit
        """Bytes beyond which the client should read before more is sent."""
        # Most connections are idle, so objects that most of them never need are made on demand.
        self._waiting: deque[bytes | LargeReply] | None = None
        self._urgent: dict[int, bytes] | None = None
        self._current: memoryview | None = None
        self._room: trio.Event | None = None
        self._is_closed = False
        self.output_bytes = 0
        """Bytes that were put here and are not sent."""
        self._aside = 0
        """Bytes of replies that will be put here after compression."""
        self._half_sent = 0
        """Bytes sent of a large reply in progress; they count until its last frame is made.

        One piece may hold the whole reply in memory.
        """
        self.progressed = False
        """True if anything was sent since this was last set to False."""

    @property
    def turn_bytes(self) -> int:
        """Return the bytes of replies that one turn may add; negative beyond the limit.

        It is less while all clients together leave much unread. With half of `TURN_BYTES` eight clients with
        sixteen large replies each would cost a fifth more processor time.
        """
        room = min(TURN_BYTES, self.limit - self.output_bytes - self._aside)
        return room if self._quota.is_ample(room) else min(room, GUARANTEED_BYTES)

    @property
    def is_idle(self) -> bool:
        """Return True if nothing waits, not even the end of a frame."""
        return self._waiting is None

    @property
    def is_full(self) -> bool:
        """Return True if the client has to read before more is sent."""
        kept = self.output_bytes + self._aside
        return kept > 0 and (kept > self.limit or not self._quota.allows(self._client))

    def has_room(self, size: int) -> bool:
        """Return True if `size` more bytes are within the bounds, or nothing waits."""
        kept = self.output_bytes + self._aside
        return not kept or (kept + size <= self.limit and self._quota.allows(self._client, size))

    @contextmanager
    def kept_aside(self, size: int) -> Iterator[None]:
        """Count a reply of `size` bytes that is being compressed until the block ends."""
        self._aside += size
        self._quota.add(self._client, size)
        try:
            yield
        finally:
            self._aside -= size
            self._quota.add(self._client, -size)
            self._tell_of_room()

    def send(self, frames: bytes) -> bool:
        """Send whole frames after all waiting ones; return True if `drain` must be called.

        Raises:
            trio.BrokenResourceError: The other side has disconnected.
        """
        if self._waiting is None:
            if self._is_closed:
                return False
            if (sent := self._transport.send_nowait(frames)) == len(frames):
                return False
            self._waiting = deque()
            self._current = memoryview(frames)[sent:]
            self._add(len(frames) - sent)
            return True
        self._waiting.append(frames)
        self._add(len(frames))
        return False

    def send_large(self, reply: LargeReply) -> bool:
        """Send a text message in fragments; return True if `drain` must be called."""
        idle = self._waiting is None
        if self._waiting is None:
            if self._is_closed:
                return False
            self._waiting = deque()
        self._waiting.append(reply)
        self._add(reply.size)
        return idle

    def send_urgent(self, frame: bytes) -> bool:
        """Send a control frame ahead of waiting ones; return True if `drain` must be called.

        It replaces a waiting frame of its kind: only the last ping has to be answered (RFC 6455, section
        5.5.3).
        """
        if self._waiting is None:
            return self.send(frame)
        if self._urgent is None:
            self._urgent = {}
        self._add(len(frame) - len(self._urgent.pop(frame[0], b"")))
        self._urgent[frame[0]] = frame
        return False

    async def drain(self, on_room: Callable[[], None]) -> None:
        """Send waiting frames until none is left; `on_room` is called while there is room for more.

        Raises:
            trio.BrokenResourceError: The other side has disconnected.
        """
        while (current := self._current or self._next()) is not None:
            self._current = current
            sent = await self._transport.send_some(current)
            if self._is_closed:
                return
            self._current = current[sent:] if sent < len(current) else None
            self._take_off(min(sent, self.output_bytes))
            self.progressed = True
            if not self.is_full:
                self._tell_of_room()
                on_room()
        self._discard()

    def close(self) -> None:
        """Drop waiting frames and accept no more, since half a frame may have been sent."""
        self._is_closed = True
        self._discard()

    def _discard(self) -> None:
        self._waiting = self._urgent = self._current = None
        self._take_off(self.output_bytes)

    async def wait_room(self) -> None:
        while self.is_full:
            if self._room is None:
                self._room = trio.Event()
            await self._room.wait()

    async def wait_half(self) -> None:
        """Wait until the outbox is at least half empty."""
        while self.is_full or 2 * self.output_bytes > self.limit:
            if self._room is None:
                self._room = trio.Event()
            await self._room.wait()

    def _add(self, size: int) -> None:
        self.output_bytes += size
        self._quota.add(self._client, size)

    def _take_off(self, size: int) -> None:
        self.output_bytes -= size
        self._half_sent += size
        if not self._waiting or isinstance(self._waiting[0], bytes):
            self._quota.add(self._client, -self._half_sent)
            self._half_sent = 0

    def _tell_of_room(self) -> None:
        if self._room is not None and not self.is_full:
            self._room.set()
            self._room = None

    def _next(self) -> memoryview | None:
        if self._urgent:
            return memoryview(self._urgent.pop(next(iter(self._urgent))))
        if not self._waiting:
            return None
        first = self._waiting[0]
        if isinstance(first, bytes):
            self._waiting.popleft()
            return memoryview(first)
        frame, last = first.next_frame()
        if last:
            self._waiting.popleft()
        return memoryview(frame)
