"""Sending side of a WebSocket connection: replies, control frames and notifications, in order.

The stages of a connection are passed in one direction only:

| stage        | on arrival                          | on sending                                       |
|--------------|-------------------------------------|--------------------------------------------------|
| OPEN         | messages are answered               | replies, notifications and control frames        |
| CLOSING      | discarded, until the client's close | nothing: our close frame is the last one         |
| CLOSED       | nothing is read                     | nothing; waiting bytes are sent, the stream ends |
| DISCONNECTED | nothing is read                     | nothing; the connection's tasks end              |

`Framing.closed` is the protocol's own state: a close frame was sent or received (RFC 6455, section 7.1). A
lost connection goes to DISCONNECTED without CLOSED.
"""

from collections.abc import Awaitable, Callable, Sequence
from enum import IntEnum
from typing import Any, Protocol

import trio
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.protocol import SEND_EOF

from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.jsonrpc.work import Reply, pieces_of, size_of
from wsnode.pubsub.subscription import Subscription
from wsnode.server.shared import Shared
from wsnode.server.websocket.channel import SocketChannel
from wsnode.server.websocket.encoding import compress
from wsnode.server.websocket.frames import CLOSE_WHOLE, PONG, Framing, text_frame
from wsnode.server.websocket.outbox import LargeReply, Outbox


class ConnectionStage(IntEnum):
    """Stage of a connection on its way to the end (RFC 6455, section 7.1)."""

    OPEN = 0
    CLOSING = 1
    """Our close frame has been posted."""
    CLOSED = 2
    """Everything has been sent or dropped, so the stream may end."""
    DISCONNECTED = 3
    """The reader has ended, and no other task may begin."""


class SendingConnection(Protocol):
    """Operations of the connection that the sender calls."""

    def start(self, function: Callable[..., Awaitable[None]], *arguments: Any) -> None: ...

    def end_within(self, seconds: float) -> None: ...

    @property
    def has_more(self) -> bool:
        """Return True if messages wait and there is room for their replies."""
        ...

    def resume(self) -> None:
        """Answer waiting messages for the time of one turn."""
        ...


class FrameSender:
    """Sending side of one WebSocket connection: it frames and compresses replies, queues them in the outbox,
    and posts control frames.
    """

    __slots__ = (
        "_channel",
        "_client",
        "_deflate",
        "_framing",
        "_host",
        "_outbox",
        "_shared",
        "stage",
    )

    def __init__(
        self,
        host: SendingConnection,
        framing: Framing,
        outbox: Outbox,
        channel: SocketChannel,
        shared: Shared,
        deflate: PerMessageDeflate | None,
        client: ClientId,
    ) -> None:
        self._host: SendingConnection | None = host
        self._client = client
        self._framing = framing
        self._outbox = outbox
        self._channel = channel
        self._shared = shared
        self._deflate = deflate
        self.stage = ConnectionStage.OPEN

    def advance(self, stage: ConnectionStage) -> None:
        """Change the stage to `stage`, unless a later stage has been reached."""
        self.stage = max(self.stage, stage)

    def post_reply(self, reply: Reply, held: Sequence[Subscription]) -> None:
        """Post `reply`, then begin the subscriptions that waited for it."""
        size = size_of(reply)
        if self._deflate is None or size < self._shared.limits.deflate_bytes:
            self._post_message(reply)
        elif size <= self._shared.limits.deflate_inline_bytes:
            self._post_message(compress(reply, self._deflate), compressed=True)
        else:
            self._start(self._post_compressed, reply, self._deflate, held)
            return
        self._channel.release(held)

    def post(self, frames: bytes) -> None:
        """Send whole frames after everything that was sent before."""
        try:
            self._drain_if(self._outbox.send(frames))
        except trio.BrokenResourceError:
            self._cut_off()

    def post_control(self) -> None:
        """Send the frames that the protocol has pending; of several pongs only the last."""
        writes, self._framing.writes = self._framing.writes, []
        last_pong = next((frame for frame in reversed(writes) if frame[:1] == PONG), None)
        for frame in writes:
            if frame[:1] == PONG and frame is not last_pong:
                continue
            if frame == SEND_EOF:
                self.advance(ConnectionStage.CLOSED)
            elif frame[0] == CLOSE_WHOLE:
                # The close frame is sent after all replies, because no frame may follow it.
                self.advance(ConnectionStage.CLOSING)
                self.post(frame)
                self._channel.end()
            else:
                self.post_urgent(frame)

    def post_urgent(self, frame: bytes) -> None:
        """Send a control frame ahead of waiting frames."""
        try:
            self._drain_if(self._outbox.send_urgent(frame))
        except trio.BrokenResourceError:
            self._cut_off()

    async def _post_compressed(
        self, reply: Reply, deflate: PerMessageDeflate, held: Sequence[Subscription]
    ) -> None:
        with self._outbox.kept_aside(size_of(reply)):
            payload = await self._shared.executor.short_work.run(
                self._client, lambda _cancel: compress(reply, deflate)
            )
        self._post_message(payload, compressed=True)
        self._channel.release(held)
        if self._host is not None:
            await _resume(self._host)

    def _post_message(self, payload: Reply, *, compressed: bool = False) -> None:
        if self.stage >= ConnectionStage.CLOSING:
            return
        if size_of(payload) > self._shared.limits.fragment_bytes:
            reply = LargeReply(payload, self._shared.limits.fragment_bytes, compressed=compressed)
            self._drain_if(self._outbox.send_large(reply))
        else:
            self.post(text_frame(*pieces_of(payload), compressed=compressed))

    def end(self) -> None:
        """Send nothing more, and drop waiting frames."""
        self._host = None
        self._outbox.close()

    def _start(self, function: Callable[..., Awaitable[None]], *arguments: Any) -> None:
        if self._host is not None:
            self._host.start(function, *arguments)

    def _cut_off(self) -> None:
        if self._host is not None:
            self._host.end_within(0)

    def _drain_if(self, waiting: bool) -> None:
        if waiting and self._host is not None:
            self._host.start(self._drain, self._host)

    async def _drain(self, host: SendingConnection) -> None:
        try:
            await self._outbox.drain(host.resume)
        except trio.BrokenResourceError:
            host.end_within(0)
        await _resume(host)


async def _resume(host: SendingConnection) -> None:
    """Answer waiting messages while there is room; other tasks run between the turns."""
    while host.has_more:
        await trio.lowlevel.checkpoint()
        host.resume()
