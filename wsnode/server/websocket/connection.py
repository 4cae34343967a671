"""WebSocket connection: bursts of messages in, replies out, slow calls beside it.

The reader never waits for a call. It answers quick calls in its turn, with one send for all replies of a
burst; slow calls become tasks of the connection, and end with it.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import trio
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.frames import CloseCode

from wsnode.jsonrpc.context import Session
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.fast_path import FastPath
from wsnode.jsonrpc.work import CallTask, size_of
from wsnode.server.scheduling.client_quota import ClientQuota
from wsnode.server.scheduling.fair_limiter import first_turn
from wsnode.server.scheduling.memory_quota import GUARANTEED_BYTES
from wsnode.server.shared import Shared
from wsnode.server.transport.transport import Transport, linger
from wsnode.server.websocket.call_tasks import CallTasks
from wsnode.server.websocket.channel import SocketChannel
from wsnode.server.websocket.connection_tasks import ConnectionTasks
from wsnode.server.websocket.encoding import UNCOMPRESSED
from wsnode.server.websocket.frames import PING, SHORT_HEADS, Framing, frame_head
from wsnode.server.websocket.outbox import Outbox
from wsnode.server.websocket.sender import ConnectionStage, FrameSender

logger = logging.getLogger("wsnode.server")

QUICKLY_ENDED = 32
"""Number of subscriptions and calls whose end takes much less than a turn."""
MESSAGE_OVERHEAD = 64
"""Bytes of memory of a waiting message besides its text."""


class WebSocketConnection:
    """WebSocket connection, from the handshake to the close."""

    __slots__ = (
        "_awaits_rest",
        "_backlog",
        "_channel",
        "_deflate",
        "_dispatcher",
        "_fast_path",
        "_fast_reply_limit",
        "_framing",
        "_has_ended_well",
        "_held",
        "_is_tried",
        "_outbox",
        "_owing",
        "_sending",
        "_session",
        "_shared",
        "_slow",
        "_tasks",
        "_transport",
        "client",
        "post",
    )

    def __init__(
        self,
        transport: Transport,
        dispatcher: Dispatcher,
        session: Session,
        shared: Shared,
        quota: ClientQuota,
        deflate: PerMessageDeflate | None = None,
    ) -> None:
        limits, client = shared.limits, quota.client
        self._transport = transport
        self._dispatcher = dispatcher
        self._session = session
        self._shared = shared
        self._deflate = deflate
        self.client = client
        """Client for which its use of shared bounds is counted."""
        self._framing = Framing(limits.message_bytes, () if deflate is None else (deflate,))
        self._outbox = Outbox(transport, limits.outbox_bytes, shared.waiting, client)
        encoding = UNCOMPRESSED if deflate is None else deflate.local_max_window_bits
        version = getattr(session.caller, "rpc_version", None)
        self._channel = SocketChannel(self, self._outbox, shared, quota, encoding, version)
        self._sending = FrameSender(self, self._framing, self._outbox, self._channel, shared, deflate, client)
        self._slow = CallTasks(session, self._sending, self._outbox, self._channel, shared, quota)
        self.post = self._sending.post
        """Sends whole frames after everything that was sent before."""
        self._backlog: list[bytes] = []
        """Messages that wait for room in the outbox."""
        self._tasks = ConnectionTasks(transport)
        self._has_ended_well = False
        """True once both sides have sent a close."""
        self._held = 0
        """Bytes of unfinished messages and of those in flight, as counted in the process's quota."""
        self._awaits_rest = False
        """True while a message is unfinished; its rest has `message_seconds` to arrive."""
        self._fast_path = dispatcher.fast_paths.open(session, are_frames=True)
        """Answers of the engine to the frames of this connection; None if it shares no results."""
        self._fast_reply_limit = 0
        """Maximum bytes of the engine's reply to the next call; 0 if a handler must answer."""
        self._is_tried = False
        """True if the engine has tried to answer the next bytes that come here."""
        self._owing = False
        """True if replies waited at the last ping; if they have been sent since, the client lives."""

    async def run(self, early: bytes, final_notice: tuple[int, str] | None = None) -> None:
        """Serve until either side closes, beginning with the bytes `early`.

        With a `final_notice` the connection is closed immediately.
        """
        self._session.channel = self._channel
        try:
            if final_notice is not None:
                self.close(*final_notice)
            needs_tasks = more = False
            try:
                more = await self._read(early)
                needs_tasks = more or self._tasks.wanted is not None
            finally:
                if not needs_tasks:
                    await self._end()
            if needs_tasks:
                await self._go_on_beside_tasks(more=more)
        finally:
            self._channel.end()
            self._session.channel = None
            self._sending.end()
            self._shared.counters.closes[self._framing.close_code] += 1
            self._framing.release()
            self._shared.received.hold(self, 0)
            self._shared.unfinished.pop(self, None)
        if self._has_ended_well:
            await linger(self._transport, self._closing_seconds)

    async def _go_on_beside_tasks(self, *, more: bool) -> None:
        """Begin the wanted tasks, and read on if there is `more`; return when all have ended."""

        async def serve() -> None:
            try:
                if more:
                    await self._read()
            finally:
                await self._end()
            self.end_within(self._closing_seconds if self._has_ended_well else 0)

        await self._tasks.run(serve)

    async def _end(self) -> None:
        """End the work for the client; tasks that are sending or ending may be left."""
        self._has_ended_well = self._sending.stage is ConnectionStage.CLOSED
        self._sending.advance(ConnectionStage.DISCONNECTED)
        # A task that still drains the outbox would answer these messages, and begin calls without an end.
        self._backlog = []
        # The wait for a turn takes time. Meanwhile calls must make no results, and the outbox keep no
        # replies, that the client does not receive.
        self._slow.halt()
        if not self._has_ended_well:
            self._outbox.close()
        await self._wait_turn_to_end()
        self._channel.end()
        await self._slow.end()

    async def _wait_turn_to_end(self) -> None:
        """Wait for a turn if many calls and subscriptions end, so that one such connection ends at a time."""
        if self._channel.subscription_count + self._slow.count > QUICKLY_ENDED:
            with trio.CancelScope(shield=True):
                await self._shared.executor.turns.pass_through(self.client)

    def keep_alive(self) -> None:
        """Send a ping; cut off a client that has not sent or read anything since the last one."""
        if self._sending.stage is ConnectionStage.DISCONNECTED:
            return
        reading = self._owing and self._outbox.progressed
        if not (self._framing.heard or reading):
            # Bytes that arrived in time may still be unread because the event loop was busy.
            self._transport.feed_nowait()
        if not (self._framing.heard or reading):
            self.end_within(0)
            return
        self._framing.heard = self._outbox.progressed = False
        self._owing = self._outbox.output_bytes > 0
        if not self._framing.closed:
            self._sending.post_urgent(PING)

    def abort_message(self) -> None:
        """Close, because a message takes too long to arrive, unless its rest lies unread."""
        unfinished = self._shared.unfinished
        began = unfinished[self]
        while self._transport.feed_nowait() and unfinished.get(self) == began:
            pass
        if unfinished.get(self) != began:
            return
        del unfinished[self]
        self._fail(CloseCode.POLICY_VIOLATION, "a message took too long to arrive")

    def evict(self) -> None:
        """Close, because this connection keeps the most bytes of unfinished messages and calls."""
        self._held = 0
        self._fail(CloseCode.TRY_AGAIN_LATER, "too many bytes of unfinished messages")

    def _fail(self, code: int, reason: str) -> None:
        if self._sending.stage is not ConnectionStage.DISCONNECTED and not self._framing.closed:
            self._backlog = []
            self._framing.fail(code, reason)
            self._count_received()
            self._sending.post_control()
            self._slow.cancel()
            self.end_within(self._shared.limits.close_seconds)

    @property
    def output_bytes(self) -> int:
        return self._outbox.output_bytes

    def evict_output(self) -> None:
        """End without sending the waiting bytes, because this client leaves the most unread."""
        self._sending.advance(ConnectionStage.CLOSED)
        self._outbox.close()
        self.end_within(0)

    def send_final_notices(self) -> None:
        self._channel.send_final_notices()

    def close(self, code: int, reason: str) -> None:
        """Close the connection with this code and reason; calls in flight end unanswered."""
        if self._sending.stage is ConnectionStage.DISCONNECTED:
            return
        seconds = self._closing_seconds
        self._framing.close(code, reason)
        self._sending.post_control()
        self.end_within(seconds)

    async def retire(self, code: int, reason: str) -> None:
        """Let calls in flight end, then close.

        `run` ends once the client has answered the close, or the time for its answer is over.
        """
        with trio.move_on_after(self._shared.limits.drain_seconds):
            await self._slow.wait_idle()
        self.close(code, reason)

    @property
    def _closing_seconds(self) -> float:
        """Return the seconds for the client to answer a close, which it reads after the waiting bytes."""
        limits = self._shared.limits
        has_all = self._shared.draining and not self._outbox.output_bytes
        return (
            min(limits.close_on_shutdown_seconds, limits.close_seconds) if has_all else limits.close_seconds
        )

    async def _read(self, early: bytes = b"") -> bool:
        """Read until the end; return True to continue in a nursery."""
        more = True
        try:
            self._set_fast_reply_limit()
            if early:
                self._take(early)
            while more:
                if self._needs_tasks:
                    return True
                await self._catch_up()
                if self._sending.stage >= ConnectionStage.CLOSED:
                    return False
                self._set_fast_reply_limit()
                more = await self._transport.feed(self._take, self.client.peer, self)
            self._framing.receive_eof()
        except Exception:
            logger.exception("a connection of %s failed", self._session.caller)
            self._framing.fail(CloseCode.INTERNAL_ERROR, "")
            self._sending.post_control()
            self._sending.advance(ConnectionStage.CLOSED)
        return False

    @property
    def _needs_tasks(self) -> bool:
        """Return True if work waits that needs a nursery, and none is open."""
        if self._tasks.nursery is not None:
            return False
        return self._tasks.wanted is not None or bool(self._backlog) or self._framing.has_more

    def _take(self, data: bytes) -> bool:
        """Answer the arrived bytes; return False when the task must act."""
        if self._is_tried:
            # The engine's fast path has tried these bytes already, and left them.
            self._is_tried = False
        else:
            data = self._answer_frames(data)
        if data:
            self._receive(data)
            self._set_fast_reply_limit()
        if self._backlog or self._framing.has_more or self._tasks.wanted is not None:
            return False
        return self._sending.stage < ConnectionStage.CLOSED

    @property
    def fast_path(self) -> FastPath | None:
        return self._fast_path

    @property
    def burst_bytes(self) -> int:
        return GUARANTEED_BYTES

    def fast_reply_limit(self) -> int:
        """Record that the fast path tries to answer arrived bytes.

        Returns the maximum number of bytes of a reply to send now, 0 for none.
        """
        # `_may_reply_now` is inlined, because this function runs for each burst. The engine must not send
        # while bytes wait in the outbox, such as the end of a frame.
        if (
            not self._fast_reply_limit
            or self._sending.stage
            or self._session.barrier is not None
            or not self._outbox.is_idle
        ):
            return 0
        self._framing.heard = self._is_tried = True
        return self._fast_reply_limit

    @property
    def _may_reply_now(self) -> bool:
        """Return True unless the connection is closing, or calls are to wait for a block."""
        return not self._sending.stage and self._session.barrier is None

    def _set_fast_reply_limit(self) -> None:
        """Let the engine reply to the next bytes, unless earlier frames or messages come first."""
        is_first = not (self._framing.is_midway or self._backlog)
        self._fast_reply_limit = min(self._largest_whole, self._session.reply_bytes) if is_first else 0

    def count_answered(self, counts: Mapping[str, int], size: int, seconds: float, longest: float) -> None:
        calls = sum(counts.values())
        self._dispatcher.fast_paths.observe(counts, calls, seconds, longest=longest)
        counters = self._shared.counters
        counters.input_bytes += size
        counters.messages += calls

    @property
    def _largest_whole(self) -> int:
        """Return the maximum number of bytes of a reply that is sent as one uncompressed frame."""
        limits = self._shared.limits
        return limits.fragment_bytes if self._deflate is None else limits.deflate_bytes - 1

    def _answer_frames(self, data: bytes) -> bytes:
        """Answer the calls at the beginning of `data` as far as the engine can; return the rest.

        Nothing is answered while earlier frames, messages or replies wait.
        """
        fast_path, began = self._fast_path, time.perf_counter()
        if fast_path is None or not self._fast_reply_limit or not self._may_reply_now:
            return data
        if self._outbox.output_bytes:
            return data
        if (answered := fast_path.try_answer(data, self._fast_reply_limit, GUARANTEED_BYTES)) is None:
            return data
        frames, size, counts, _moment = answered
        seconds = time.perf_counter() - began
        self.count_answered(counts, size, seconds, seconds)
        self._framing.heard = True
        self.post(frames)
        return data[size:]

    def _receive(self, data: bytes) -> None:
        """Answer the messages completed by `data`, for the time of one turn."""
        framing, counters = self._framing, self._shared.counters
        messages = framing.receive(data)
        counters.input_bytes += len(data)
        counters.messages += len(messages)
        if self._held or self._awaits_rest or framing.is_midway:
            self._wait_for_rest(is_another=bool(messages))
            self._count_received()
            if self._sending.stage >= ConnectionStage.CLOSED:
                return
        if framing.writes and not framing.closed:
            self._sending.post_control()
        if messages:
            if self._backlog or self._outbox.is_full:
                self._backlog += messages
            else:
                seconds = self._shared.limits.slice_seconds
                if len(messages) > 1:
                    seconds = first_turn(seconds, self._transport.ready)
                self._backlog = self._take_turn(messages, seconds)
        if framing.writes and not self._backlog:
            self._sending.post_control()
        if self._backlog:
            self._count_received()

    def _wait_for_rest(self, *, is_another: bool) -> None:
        """Record since when a message is unfinished: since now if `is_another` has begun."""
        unfinished, is_midway = self._shared.unfinished, self._framing.is_midway
        if is_another or not is_midway:
            unfinished.pop(self, None)
        self._awaits_rest = is_midway
        if is_midway:
            unfinished.setdefault(self, trio.current_time())

    def _count_received(self) -> None:
        self._held = self._framing.output_bytes + self._slow.bytes + self._backlog_bytes
        self._shared.received.hold(self, self._held)

    async def _catch_up(self) -> None:
        """Read and answer what one turn left, unless replies have to wait for the client."""
        while self._backlog or self._framing.has_more:
            if self.has_more:
                await self._shared.executor.turns.pass_through(self.client)
                self.resume()
            elif self._framing.has_more and self._may_read_ahead:
                await self._shared.executor.turns.pass_through(self.client)
                self._receive(b"")
            elif self._may_read_ahead:
                break
            else:
                # The outbox is full and no more may be read ahead, so only the client can make room, by
                # reading.
                await self._outbox.wait_room()
        if self._framing.writes:
            self._sending.post_control()

    @property
    def _may_read_ahead(self) -> bool:
        return self._backlog_bytes <= self._shared.limits.read_ahead_bytes

    @property
    def _backlog_bytes(self) -> int:
        return sum(map(len, self._backlog)) + MESSAGE_OVERHEAD * len(self._backlog)

    @property
    def has_more(self) -> bool:
        return bool(self._backlog) and not self._outbox.is_full

    def resume(self) -> None:
        if self.has_more:
            self._backlog = self._take_turn(self._backlog, self._shared.limits.slice_seconds)
            self._count_received()

    def _take_turn(self, messages: list[bytes], seconds: float) -> list[bytes]:
        """Answer messages for `seconds`, and return the unanswered rest."""
        dispatcher, session, largest = self._dispatcher, self._session, self._largest_whole
        handle = dispatcher.handle
        pieces: list[bytes] = []
        size = count = calls = 0
        room = self._outbox.turn_bytes
        deadline = time.perf_counter() + seconds
        self._slow.begin_turn()
        while count < len(messages) and size <= room:
            answer = handle(messages[count], session)
            count += 1
            calls += 1
            if answer is None or isinstance(answer, CallTask):
                if answer is not None:
                    kept = len(messages[count - 1]) + answer.weight
                    self._slow.begin(answer, self._tasks.start, kept, self._count_received)
                if time.perf_counter() > deadline:
                    break
                continue
            if isinstance(answer, bytes) and (length := len(answer)) <= largest:
                pieces += (SHORT_HEADS[length] if length < 126 else frame_head(length), answer)
            else:
                length = size_of(answer)
                if pieces:
                    self.post(b"".join(pieces))
                    pieces = []
                self._sending.post_reply(answer, session.take_pending())
            size += length
            # `session.mark` is the time at the end of most calls. For calls that do not set it, the clock is
            # read after every eighth call.
            if session.mark > deadline or (not calls & 7 and time.perf_counter() > deadline):
                break
            # After a reply longer than `largest` the next one may be as long, so the fast path is not tried.
            if session.may_take_fast_path and length <= largest and count < len(messages) and size <= room:
                frames, answered = dispatcher.fast_paths.answer_calls(
                    messages, count, session, largest, room - size, are_messages=True
                )
                pieces.append(frames)
                size += len(frames)
                count += answered
                if time.perf_counter() > deadline:
                    break
        if pieces:
            self.post(b"".join(pieces))
        session.end_turn()
        if session.pending_subscriptions:
            self._channel.release(session.take_pending())
        return messages[count:]

    def start(self, function: Callable[..., Awaitable[None]], *arguments: Any) -> None:
        self._tasks.start(function, *arguments)

    def end_within(self, seconds: float) -> None:
        self._tasks.end_within(seconds)
