"""Client of the light-client part of the Beacon API over HTTP: bounded answers and events, as bytes.

https://ethereum.github.io/beacon-APIs: `/eth/v1/beacon/light_client`, `/eth/v1/events`.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

import h11
import trio

from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.client import Score
from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError
from wsnode.upstream.http import RECEIVE_BYTES, seconds_of
from wsnode.upstream.link import CONNECTING_SECONDS, Connect, connector, words_for
from wsnode.upstream.metering import MAX_INFORMATIONAL, PIECES_A_TURN, ExcessiveWorkError, MessageWork

ANSWER_SECONDS: Final = 5.0
"""Maximum number of seconds from the request to the last byte of the answer."""
ANSWER_BYTES: Final = 4 << 20
EVENT_BYTES: Final = 256 << 10
REQUESTS_AT_ONCE: Final = 4
OK: Final = 200
TOPICS: Final = "light_client_finality_update,light_client_optimistic_update"
KINDS: Final = {f"light_client_{kind}": kind for kind in ("finality_update", "optimistic_update")}


class BeaconApi:
    """Client of one beacon node's API for light clients."""

    def __init__(self, address: UpstreamAddress, connect: Connect | None = None) -> None:
        self.address = address
        self.score = Score()
        self._connect = connect or connector()
        self._room = trio.CapacityLimiter(REQUESTS_AT_ONCE)

    def __str__(self) -> str:
        return str(self.address)

    async def bootstrap(self, root: bytes) -> bytes:
        """Return the bootstrap of the block with this root, as JSON."""
        return await self.get(f"/eth/v1/beacon/light_client/bootstrap/0x{root.hex()}")

    async def updates(self, start_period: int, count: int) -> bytes:
        """Return a list of the best update of each of `count` periods, as JSON."""
        query = f"start_period={start_period}&count={count}"
        return await self.get(f"/eth/v1/beacon/light_client/updates?{query}")

    async def update(self, kind: str) -> bytes:
        """Return the newest `finality_update` or `optimistic_update`, as JSON."""
        return await self.get(f"/eth/v1/beacon/light_client/{kind}")

    async def get(self, path: str) -> bytes:
        """Return the body of the answer to a GET of `path`.

        Raises:
            UpstreamRefusedError: The answer's status is not 200.
            UpstreamError: There is no answer within `ANSWER_SECONDS` and `ANSWER_BYTES`.
        """
        began = trio.current_time()
        try:
            async with self._room:
                body = await self._got(path)
        except UpstreamError:
            self.score.failed()
            raise
        self.score.answered(trio.current_time() - began)
        return body

    async def _got(self, path: str) -> bytes:
        body = bytearray()
        pieces = MessageWork()
        with trio.move_on_after(CONNECTING_SECONDS + ANSWER_SECONDS):
            # If the loop is left early, the generator must close its connection before any other code runs.
            async with aclosing(self._events_of(path, "application/json", ANSWER_SECONDS)) as events:
                async for event in events:
                    body += event.data
                    self._count(pieces, event)
                    if len(body) > ANSWER_BYTES:
                        raise UpstreamError("invalid", f"the answer has more than {ANSWER_BYTES} bytes")
                return bytes(body)
        raise UpstreamError("timeout", f"no answer within {CONNECTING_SECONDS + ANSWER_SECONDS:g} s")

    def _count(self, pieces: MessageWork, event: h11.Data) -> None:
        try:
            (pieces.add if event.chunk_start else pieces.extend)(len(event.data))
        except ExcessiveWorkError as excess:
            raise UpstreamError("invalid", str(excess)) from None

    async def events(self, silence_seconds: float) -> AsyncGenerator[tuple[str, bytes], None]:
        """Yield the kind and the JSON of each update in the stream of events, until the stream ends.

        Raises:
            UpstreamError: The stream broke, was silent for `silence_seconds`, or was malformed.
        """
        rest = b""
        path = f"/eth/v1/events?topics={TOPICS}"
        async with aclosing(
            self._events_of(path, "text/event-stream", silence_seconds, endless=True)
        ) as events:
            async for event in events:
                rest += bytes(event.data).replace(b"\r\n", b"\n")
                *told, rest = rest.split(b"\n\n")
                if len(rest) > EVENT_BYTES or any(len(each) > EVENT_BYTES for each in told):
                    raise UpstreamError("invalid", f"an event has more than {EVENT_BYTES} bytes")
                for each in told:
                    if (update := read_event(each)) is not None:
                        yield update

    async def _events_of(
        self, path: str, accept: str, seconds: float, *, endless: bool = False
    ) -> AsyncGenerator[h11.Data, None]:
        """Yield the pieces of a body; `seconds` bound the whole body or, if it is `endless`, each silence."""
        stream = await self._opened()
        try:
            protocol = h11.Connection(h11.CLIENT)
            await self._send(stream, protocol, path, accept)
            informational = count = 0
            ends = trio.current_time() + seconds
            while True:
                event = await self._next(stream, protocol, ends)
                count += 1
                if count % PIECES_A_TURN == 0:
                    await trio.lowlevel.checkpoint()
                if isinstance(event, h11.InformationalResponse):
                    informational += 1
                    if informational > MAX_INFORMATIONAL:
                        raise UpstreamError(
                            "invalid", f"more than {MAX_INFORMATIONAL} responses before the response"
                        )
                elif isinstance(event, h11.Response):
                    self._require_ok(event)
                    if not endless:
                        self._require_short(event)
                elif isinstance(event, h11.Data):
                    ends = trio.current_time() + seconds if endless else ends
                    yield event
                elif isinstance(event, h11.EndOfMessage):
                    return
                else:
                    raise UpstreamError("unreachable", "the connection ended before the answer")
        finally:
            await trio.aclose_forcefully(stream)

    def _require_ok(self, response: h11.Response) -> None:
        status = response.status_code
        if status != OK:
            retry_after = seconds_of(dict(response.headers).get(b"retry-after"))
            raise UpstreamRefusedError(status, f"HTTP {status}", retry_after)

    def _require_short(self, response: h11.Response) -> None:
        told = dict(response.headers).get(b"content-length", b"0")
        # h11 has checked that Content-Length is a number of at most twenty digits.
        if int(told) > ANSWER_BYTES:
            raise UpstreamError("invalid", f"the answer has more than {ANSWER_BYTES} bytes")

    async def _opened(self) -> trio.abc.Stream:
        try:
            with trio.fail_after(CONNECTING_SECONDS):
                return await self._connect(self.address)
        except (OSError, trio.BrokenResourceError, trio.TooSlowError) as error:
            raise UpstreamError("unreachable", words_for(error)) from None

    async def _send(self, stream: trio.abc.Stream, protocol: h11.Connection, path: str, accept: str) -> None:
        prefix, _, query = self.address.resource.partition("?")
        target = prefix.rstrip("/") + path
        if query:
            # The query of the configured URL may be a key of the provider, so it is part of each request.
            target += ("&" if "?" in path else "?") + query
        headers = [("Host", self.address.host_header), ("Accept", accept), ("Connection", "close")]
        if self.address.authorization is not None:
            headers.append(("Authorization", self.address.authorization))
        request = h11.Request(method="GET", target=target, headers=headers)
        text = (protocol.send(request) or b"") + (protocol.send(h11.EndOfMessage()) or b"")
        try:
            with trio.fail_after(ANSWER_SECONDS):
                await stream.send_all(text)
        except (OSError, trio.BrokenResourceError, trio.TooSlowError) as error:
            raise UpstreamError("unreachable", words_for(error)) from None

    async def _next(self, stream: trio.abc.Stream, protocol: h11.Connection, ends: float) -> Any:
        try:
            with trio.fail_at(ends):
                while (event := protocol.next_event()) is h11.NEED_DATA:
                    protocol.receive_data(bytes(await stream.receive_some(RECEIVE_BYTES)))
                return event
        except trio.TooSlowError:
            raise UpstreamError("timeout", "no complete answer in time") from None
        except (OSError, trio.BrokenResourceError) as error:
            raise UpstreamError("unreachable", words_for(error)) from None
        except h11.RemoteProtocolError as error:
            raise UpstreamError("invalid", f"the answer breaks HTTP: {error}") from None


def read_event(text: bytes) -> tuple[str, bytes] | None:
    """Return the kind and the JSON of an event; None for a comment and for an event of another topic."""
    name, lines = b"", []
    for line in text.split(b"\n"):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            name = value
        elif field == b"data":
            lines.append(value)
    kind = KINDS.get(name.decode("ascii", "replace"))
    return None if kind is None else (kind, b"\n".join(lines))
