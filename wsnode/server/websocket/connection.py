"""One WebSocket connection: bursts of messages in, replies out, slow calls beside it.

The reader never waits for a call. Quick calls are answered in its turn, all replies of a burst in one send;
slow ones become tasks of the connection's nursery, and end with it. Most connections need no task beside the
reader's and no deadline for long, so the nursery is opened when they do (docs/decisions/0060).
"""

import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import trio
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.frames import CloseCode

from wsnode.jsonrpc.dispatcher import LastingResults
from wsnode.jsonrpc.session import Session
from wsnode.jsonrpc.work import SlowCall, size_of
from wsnode.server.access.allowance import Allowance
from wsnode.server.shared import Shared
from wsnode.server.transport.transport import Transport, linger
from wsnode.server.turns.budget import SHARE_BYTES
from wsnode.server.turns.fair import first_turn
from wsnode.server.websocket.channel import SocketChannel
from wsnode.server.websocket.frames import PING, SHORT_HEADS, Framing, frame_head
from wsnode.server.websocket.notifications import UNCOMPRESSED
from wsnode.server.websocket.outbox import Outbox
from wsnode.server.websocket.sending import Sending
from wsnode.server.websocket.slow_calls import SlowCalls
from wsnode.server.websocket.stage import Stage

logger = logging.getLogger("wsnode.server")

QUICKLY_ENDED = 32
"""Subscriptions and calls in flight whose end takes much less than a turn."""
MESSAGE_OVERHEAD = 64
"""Memory of a waiting message besides its bytes."""

_Task: TypeAlias = tuple[Callable[..., Awaitable[None]], tuple[Any, ...]]
"""A function and its arguments."""


class WebSocketConnection:
    """An open connection, from the handshake to the close."""

    __slots__ = (
        "_awaits_rest",
        "_backlog",
        "_channel",
        "_deflate",
        "_ends_at",
        "_framing",
        "_has_ended_well",
        "_held",
        "_nursery",
        "_outbox",
        "_owing",
        "_plain_bytes",
        "_sending",
        "_session",
        "_shared",
        "_slow",
        "_transport",
        "_wanted",
        "party",
        "post",
    )

    def __init__(
        self,
        transport: Transport,
        session: Session,
        shared: Shared,
        allowance: Allowance,
        deflate: PerMessageDeflate | None = None,
    ) -> None:
        limits, party = shared.limits, allowance.party
        self._transport = transport
        self._session = session
        self._shared = shared
        self._deflate = deflate
        self.party = party
        """The party that its shares count for."""
        self._framing = Framing(limits.message_bytes, () if deflate is None else (deflate,))
        self._outbox = Outbox(transport, limits.outbox_bytes, shared.waiting, party)
        encoding = UNCOMPRESSED if deflate is None else deflate.local_max_window_bits
        self._channel = SocketChannel(self, self._outbox, shared, allowance, encoding)
        self._sending = Sending(self, self._framing, self._outbox, self._channel, shared, deflate, party)
        self._slow = SlowCalls(session, self._sending, self._outbox, self._channel, shared, party)
        self.post = self._sending.post
        """Sends whole frames behind all that was sent before."""
        self._backlog: list[bytes] = []
        """Messages that wait for room in the outbox."""
        self._nursery: trio.Nursery | None = None
        self._wanted: list[_Task] | None = None
        """Tasks that are to begin in the nursery; None if it need not be opened."""
        self._ends_at = math.inf
        """When the connection is to end, in trio's time."""
        self._has_ended_well = False
        """Whether both sides have said goodbye."""
        self._held = 0
        """Bytes of unfinished messages and of those in flight, as counted in the process's budget."""
        self._awaits_rest = False
        """Whether a message is unfinished, which has a time to arrive."""
        self._plain_bytes = 0
        """How long the engine's reply to a call may be whose bytes come next; 0 if it must not be asked."""
        self._owing = False
        """Whether replies waited when the last ping was sent, so that sending them is a sign of life."""

    async def run(self, early: bytes, farewell: tuple[int, str] | None = None) -> None:
        """Serve until either side closes, or say `farewell` at once; `early` came behind the handshake."""
        self._session.channel = self._channel
        try:
            if farewell is not None:
                self.close(*farewell)
            needs_tasks = more = False
            try:
                more = await self._read(early)
                needs_tasks = more or self._wanted is not None
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
        """Begin what is to begin, and read if there is more; return when all tasks have ended."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.cancel_scope.deadline = self._ends_at
            self._start_wanted(nursery)
            try:
                if more:
                    await self._read()
            finally:
                await self._end()
            self.end_within(self._closing_seconds if self._has_ended_well else 0)

    def _start_wanted(self, nursery: trio.Nursery) -> None:
        # A frame that stays would keep the last task's arguments: a call, and its reply of megabytes.
        wanted, self._wanted = self._wanted, None
        for function, arguments in wanted or ():
            nursery.start_soon(function, *arguments)

    async def _end(self) -> None:
        """Have what runs for the client end; tasks may be left that send, or that end."""
        self._has_ended_well = self._sending.stage is Stage.OVER
        self._sending.advance(Stage.ENDING)
        # What still sends would answer it, and begin calls that nothing ends.
        self._backlog = []
        # To wait for its turn takes time, in which nothing is to be made, or kept, that nobody gets.
        self._slow.halt()
        if not self._has_ended_well:
            self._outbox.close()
        await self._wait_turn_to_end()
        self._channel.end()
        await self._slow.end()

    async def _wait_turn_to_end(self) -> None:
        """Wait until no other connection ends that has as much to end, if this one has much."""
        if self._channel.subscription_count + self._slow.count > QUICKLY_ENDED:
            with trio.CancelScope(shield=True):
                await self._shared.lane.turns.pass_through(self.party)

    def keep_alive(self) -> None:
        """Send a ping; cut off a client that has not given a sign since the last one."""
        if self._sending.stage is Stage.ENDING:
            return
        reading = self._owing and self._outbox.progressed
        if not (self._framing.heard or reading):
            self.end_within(0)
            return
        self._framing.heard = self._outbox.progressed = False
        self._owing = self._outbox.waiting_bytes > 0
        if not self._framing.closed:
            self._sending.post_urgent(PING)

    def give_up_message(self) -> None:
        """Close, because a message has taken too long to arrive."""
        self._fail(CloseCode.POLICY_VIOLATION, "a message took too long to arrive")

    def give_up(self) -> None:
        """Close, because no other connection keeps as many bytes of unfinished messages and calls."""
        self._held = 0
        self._fail(CloseCode.TRY_AGAIN_LATER, "too many bytes of unfinished messages")

    def _fail(self, code: int, reason: str) -> None:
        if self._sending.stage is not Stage.ENDING and not self._framing.closed:
            self._backlog = []
            self._framing.fail(code, reason)
            self._count_received()
            self._sending.post_control()
            self._slow.cancel()
            self.end_within(self._shared.limits.close_seconds)

    @property
    def waiting_bytes(self) -> int:
        """Return how much waits for the client to read."""
        return self._outbox.waiting_bytes

    def give_up_replies(self) -> None:
        """End at once, without what waits: no other client leaves as much unread, and all leave too much."""
        self._sending.advance(Stage.OVER)
        self._outbox.close()
        self.end_within(0)

    def dismiss(self) -> None:
        """Send each subscription's last notice, with its position, and end it."""
        self._channel.dismiss()

    def close(self, code: int, reason: str) -> None:
        """Say goodbye now; calls in flight end unanswered."""
        if self._sending.stage is Stage.ENDING:
            return
        seconds = self._closing_seconds
        self._framing.close(code, reason)
        self._sending.post_control()
        self.end_within(seconds)

    async def retire(self, code: int, reason: str) -> None:
        """Let the calls in flight end, then say goodbye; `run` ends once that is answered, or soon after."""
        with trio.move_on_after(self._shared.limits.grace_seconds):
            await self._slow.wait_idle()
        self.close(code, reason)

    @property
    def _closing_seconds(self) -> float:
        """Seconds for the client to answer a close: it may have to read the waiting bytes first."""
        limits = self._shared.limits
        has_all = self._shared.draining and not self._outbox.waiting_bytes
        return min(limits.farewell_seconds, limits.close_seconds) if has_all else limits.close_seconds

    async def _read(self, early: bytes = b"") -> bool:
        """Read until the end; return whether there is more, which takes a nursery."""
        more = True
        try:
            if early:
                self._take(early)
            while more:
                if self._needs_tasks:
                    return True
                await self._catch_up()
                if self._sending.stage >= Stage.OVER:
                    return False
                more = await self._transport.feed(self._take, self.party.peer, self)
            self._framing.receive_eof()
        except Exception:
            logger.exception("a connection of %s failed", self._session.caller)
            self._framing.fail(CloseCode.INTERNAL_ERROR, "")
            self._sending.post_control()
            self._sending.advance(Stage.OVER)
        return False

    @property
    def _needs_tasks(self) -> bool:
        """Return whether something is to be done that takes a nursery, and there is none yet."""
        if self._nursery is not None:
            return False
        return self._wanted is not None or bool(self._backlog) or self._framing.has_more

    def _take(self, data: bytes | None) -> bool:
        """Answer the arrived bytes, and those that follow at once; return False when the task must act."""
        dialogue = self._shared.dialogue
        dialogue.heard(self)
        while data:
            data, messages = self._answer_frames(data)
            if data:
                messages += self._receive(data)
            if self._backlog or self._framing.has_more or self._wanted is not None:
                return False
            if self._sending.stage >= Stage.OVER:
                return False
            data = dialogue.receive(self, self._transport, messages)
        return True

    @property
    def lasting(self) -> LastingResults | None:
        """Return the results that its calls are answered by, if they are."""
        return self._session.lasting

    @property
    def burst_bytes(self) -> int:
        """Return how long the engine's replies to one burst may be together."""
        return SHARE_BYTES

    def largest_plain_reply(self) -> int:
        """Note that bytes have arrived; return how long a reply of the engine may be now, 0 if it may not.

        It may if it has answered all of the last burst, and nothing waits. The reader takes everything else,
        and what the client sends that is polled for.
        """
        # The engine does not send behind what waits, be it the end of a frame.
        if not self._plain_bytes or self._sending.stage or not self._outbox.is_idle:
            return 0
        if not self._shared.dialogue.turn_to(self):
            return 0
        self._framing.heard = True
        return self._plain_bytes

    def count_answered(self, counts: Mapping[str, int], size: int, seconds: float, longest: float) -> None:
        """Count the calls of each method that the engine has answered, in frames of `size` bytes together."""
        calls = sum(counts.values())
        self._session.observe(counts, calls, seconds, longest=longest)
        counters = self._shared.counters
        counters.received_bytes += size
        counters.messages += calls

    @property
    def _largest_whole(self) -> int:
        """Return the length up to which a reply is one frame and not compressed."""
        limits = self._shared.limits
        return limits.fragment_bytes if self._deflate is None else limits.deflate_bytes - 1

    def _answer_frames(self, data: bytes) -> tuple[bytes, int]:
        """Answer calls for what the engine has; return the rest of `data`, and the number of calls.

        Nothing else may wait, here or for the client to read: such calls come first.
        """
        framing, session = self._framing, self._session
        if framing.is_midway or self._backlog or self._outbox.waiting_bytes or self._sending.stage:
            return data, 0
        answered = session.answer_frames(data, self._largest_whole, SHARE_BYTES)
        if answered is None:
            return data, 0
        frames, size, count = answered
        counters = self._shared.counters
        counters.received_bytes += size
        counters.messages += count
        framing.heard = True
        self.post(frames)
        if not self._plain_bytes and size == len(data) and not session.went_together:
            self._plain_bytes = min(self._largest_whole, session.reply_bytes)
        return data[size:], count

    def _receive(self, data: bytes) -> int:
        """Answer the messages that `data` completes for the time of one turn; return how many there are."""
        framing, counters = self._framing, self._shared.counters
        self._plain_bytes = 0
        messages = framing.receive(data)
        counters.received_bytes += len(data)
        counters.messages += len(messages)
        if self._held or self._awaits_rest or framing.is_midway:
            self._wait_for_rest(is_another=bool(messages))
            self._count_received()
            if self._sending.stage >= Stage.OVER:
                return len(messages)
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
        return len(messages)

    def _wait_for_rest(self, *, is_another: bool) -> None:
        """Note whether a message is unfinished, and since when: from now on if it is another one."""
        unfinished, is_midway = self._shared.unfinished, self._framing.is_midway
        if is_another or not is_midway:
            unfinished.pop(self, None)
        self._awaits_rest = is_midway
        if is_midway:
            unfinished.setdefault(self, trio.current_time())

    def _count_received(self) -> None:
        self._held = self._framing.waiting_bytes + self._slow.bytes + self._backlog_bytes
        self._shared.received.hold(self, self._held)

    async def _catch_up(self) -> None:
        """Read and answer what one turn could not, unless replies have to wait for the client."""
        while self._backlog or self._framing.has_more:
            if self.has_more:
                await self._shared.lane.turns.pass_through(self.party)
                self.resume()
            elif self._framing.has_more and self._may_read_ahead:
                await self._shared.lane.turns.pass_through(self.party)
                self._receive(b"")
            elif self._may_read_ahead:
                break
            else:
                # Nothing more is read ahead; only the client can change that, by reading.
                await self._outbox.wait_room()
        if self._framing.writes:
            self._sending.post_control()

    @property
    def _may_read_ahead(self) -> bool:
        return self._backlog_bytes <= self._shared.limits.inbox_bytes

    @property
    def _backlog_bytes(self) -> int:
        return sum(map(len, self._backlog)) + MESSAGE_OVERHEAD * len(self._backlog)

    @property
    def has_more(self) -> bool:
        """Return whether requests wait and there is room for their replies."""
        return bool(self._backlog) and not self._outbox.is_full

    def resume(self) -> None:
        """Answer them for the time of one turn."""
        if self.has_more:
            self._backlog = self._take_turn(self._backlog, self._shared.limits.slice_seconds)
            self._count_received()

    def _take_turn(self, messages: list[bytes], seconds: float) -> list[bytes]:
        """Answer messages for `seconds`, and return the rest."""
        session, largest = self._session, self._largest_whole
        receive = session.receive
        pieces: list[bytes] = []
        size = count = calls = 0
        room = self._outbox.turn_bytes
        deadline = time.perf_counter() + seconds
        self._slow.begin_turn()
        while count < len(messages) and size <= room:
            answer = receive(messages[count])
            count += 1
            calls += 1
            if answer is None or isinstance(answer, SlowCall):
                if answer is not None:
                    kept = len(messages[count - 1]) + answer.weight
                    self._slow.begin(answer, self.start, kept, self._count_received)
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
                self._sending.post_reply(answer, session.take_held())
            size += length
            # The session has looked at the clock after most calls, and it is asked after all others.
            if session.mark > deadline or (not calls & 7 and time.perf_counter() > deadline):
                break
            # Where the last reply was too long for that, the next one may be as well.
            if session.may_go_together and length <= largest and count < len(messages) and size <= room:
                frames, answered = session.go_together(
                    messages, count, largest, room - size, are_messages=True
                )
                pieces.append(frames)
                size += len(frames)
                count += answered
                if time.perf_counter() > deadline:
                    break
        if pieces:
            self.post(b"".join(pieces))
        session.end_turn()
        if session.held:
            self._channel.release(session.take_held())
        return messages[count:]

    def start(self, function: Callable[..., Awaitable[None]], *arguments: Any) -> None:
        """Run `function` until the connection ends."""
        if self._nursery is not None:
            self._nursery.start_soon(function, *arguments)
        else:
            self._want_tasks().append((function, arguments))

    def end_within(self, seconds: float) -> None:
        """End the connection after `seconds` at the latest."""
        self._ends_at = min(self._ends_at, trio.current_time() + seconds)
        if self._nursery is not None:
            self._nursery.cancel_scope.deadline = self._ends_at
        else:
            self._want_tasks()

    def _want_tasks(self) -> list[_Task]:
        """Have the reader open the nursery, and return what it is to begin there."""
        if self._wanted is None:
            self._wanted = []
            self._transport.wake()
        return self._wanted
