"""Calls by HTTP POST, over a few connections that are kept open."""

import itertools
import logging
from collections.abc import Sequence
from typing import Any, Final

import h11
import trio

from wsnode.untrusted.decoding import MalformedError
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError
from wsnode.upstream.link import CONNECTING_SECONDS, MESSAGE_BYTES, Connect, OnEvent, words_for
from wsnode.upstream.messages import (
    ETH_SUBSCRIBE,
    Params,
    UpstreamMessage,
    decode_batch,
    encode_batch,
    encode_call,
    result_of,
    result_or_refusal,
)
from wsnode.upstream.metering import MAX_INFORMATIONAL, PIECES_A_TURN, ExcessiveWorkError, MessageWork

CONNECTIONS: Final = 8
RECEIVE_BYTES: Final = 1 << 16
TOO_MANY_REQUESTS: Final = 429
REFUSALS: Final = frozenset({401, 402, 403, 404, 405, TOO_MANY_REQUESTS, 503})
"""Statuses that mean a refusal by HTTP; bodies of other failures are often JSON-RPC replies."""

logger = logging.getLogger("wsnode.upstream")


class HttpLink:
    """Link that sends each call as a POST; it never ends, since it depends on no single connection."""

    def __init__(self, address: UpstreamAddress, connect: Connect) -> None:
        self.ended = trio.Event()
        self.heard = 0
        self._address = address
        self._connect = connect
        self._room = trio.CapacityLimiter(CONNECTIONS)
        self._idle: list[_Connection] = []
        self._numbers = itertools.count(1)

    async def ask(self, method: str, params: Params) -> bytes:
        messages, retry_after = await self._answered(encode_call(next(self._numbers), method, params))
        if len(messages) != 1:
            raise UpstreamError("invalid", f"{len(messages)} replies to one call")
        return result_of(messages[0], retry_after)

    async def ask_all(self, method: str, calls: Sequence[list[Any]]) -> list[bytes | UpstreamRefusedError]:
        numbered = {next(self._numbers): params for params in calls}
        messages, retry_after = await self._answered(encode_batch(method, numbered))
        found = {message.id: message for message in messages}
        if None in found:
            # A reply without an id is an error for the whole batch, which `result_of` raises.
            result_of(found[None], retry_after)
        return [result_or_refusal(found.get(number)) for number in numbered]

    async def _answered(self, body: bytes) -> tuple[list[UpstreamMessage], float | None]:
        """Return the messages in the response to a POST, and the seconds of its `Retry-After` or None."""
        async with self._room:
            status, retry_after, text = await self._posted(body)
        self.heard += 1
        if status in REFUSALS:
            raise UpstreamRefusedError(status, f"HTTP {status}", retry_after)
        try:
            return decode_batch(text), retry_after
        except MalformedError:
            logger.warning("%s answered HTTP %d with a body that is not JSON-RPC", self._address, status)
            raise UpstreamError("invalid", f"HTTP {status}") from None

    async def subscribe(self, params: Params, on_event: OnEvent, method: str = ETH_SUBSCRIBE) -> None:
        raise UpstreamError("refused", "HTTP has no subscriptions")

    def drop(self) -> None:
        """Drop the idle connections without closing them; those in use go on."""
        self._idle.clear()

    async def _posted(self, body: bytes) -> tuple[int, float | None, bytes]:
        try:
            while self._idle:
                # The upstream may have closed a kept connection meanwhile, which only its use shows.
                connection = self._idle.pop()
                try:
                    return await self._on(connection, body)
                except ExcessiveWorkError:
                    raise
                except (OSError, trio.BrokenResourceError, h11.RemoteProtocolError):
                    continue
            with trio.fail_after(CONNECTING_SECONDS):
                stream = await self._connect(self._address)
            return await self._on(_Connection(stream), body)
        except ExcessiveWorkError as excess:
            logger.warning("%s sent %s; the connection is ended", self._address, excess)
            raise UpstreamError("invalid", str(excess)) from None
        except (OSError, trio.BrokenResourceError, trio.TooSlowError, h11.RemoteProtocolError) as error:
            logger.warning("%s cannot be asked: %s", self._address, words_for(error))
            raise UpstreamError("unreachable") from None

    async def _on(self, connection: "_Connection", body: bytes) -> tuple[int, float | None, bytes]:
        is_whole = False
        try:
            answer = await connection.post(self._address, body)
            is_whole = True
        finally:
            if is_whole and connection.is_reusable:
                self._idle.append(connection)
            else:
                await trio.aclose_forcefully(connection.stream)
        return answer


class _Connection:
    """Connection that carries one request at a time."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self._protocol = h11.Connection(h11.CLIENT)

    @property
    def is_reusable(self) -> bool:
        """Return True if the connection can carry another request, and prepare it."""
        if self._protocol.our_state is not h11.DONE or self._protocol.their_state is not h11.DONE:
            return False
        self._protocol.start_next_cycle()
        return True

    async def post(self, address: UpstreamAddress, body: bytes) -> tuple[int, float | None, bytes]:
        """Return the response's status, its `Retry-After` in seconds or None, and its body."""
        headers = [
            ("Host", address.host_header),
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
        ]
        if address.authorization is not None:
            headers.append(("Authorization", address.authorization))
        request = h11.Request(method="POST", target=address.resource, headers=headers)
        parts = [self._protocol.send(event) for event in (request, h11.Data(data=body), h11.EndOfMessage())]
        await self.stream.send_all(b"".join(part for part in parts if part is not None))
        return await self._answer()

    async def _answer(self) -> tuple[int, float | None, bytes]:
        status, retry_after, body = 0, None, bytearray()
        pieces, informational, events = MessageWork(), 0, 0
        while True:
            event = await self._next_event()
            events += 1
            if events % PIECES_A_TURN == 0:
                # The parser returns events of bytes that have arrived without waiting, so other tasks get a
                # turn here.
                await trio.lowlevel.checkpoint()
            if isinstance(event, h11.Response):
                status = event.status_code
                retry_after = seconds_of(dict(event.headers).get(b"retry-after"))
            elif isinstance(event, h11.InformationalResponse):
                informational += 1
                if informational > MAX_INFORMATIONAL:
                    raise ExcessiveWorkError(f"more than {MAX_INFORMATIONAL} responses before the response")
            elif isinstance(event, h11.Data):
                body += event.data
                (pieces.add if event.chunk_start else pieces.extend)(len(event.data))
                if len(body) > MESSAGE_BYTES:
                    raise UpstreamError("invalid", f"an answer above {MESSAGE_BYTES} bytes")
            elif isinstance(event, h11.EndOfMessage):
                return status, retry_after, bytes(body)
            elif isinstance(event, h11.ConnectionClosed):
                raise trio.BrokenResourceError("the connection ended before the answer")

    async def _next_event(self) -> Any:
        while (event := self._protocol.next_event()) is h11.NEED_DATA:
            self._protocol.receive_data(bytes(await self.stream.receive_some(RECEIVE_BYTES)))
        return event


def seconds_of(retry_after: bytes | None) -> float | None:
    """Return the seconds of a Retry-After header, None if it is absent or a date."""
    if retry_after is None or not retry_after.isdigit():
        return None
    return float(retry_after)
