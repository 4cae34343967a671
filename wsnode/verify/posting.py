"""POST to a node that may answer anything: one reply whatever the status, or one error."""

import http.client
import urllib.error
import urllib.request
from typing import IO, Final, NamedTuple

from wsnode.upstream.address import shown

MAX_MESSAGE_BYTES: Final = 1 << 30


class HttpReply(NamedTuple):
    """Reply to a POST: its status and its body."""

    status: int
    body: bytes


def _opener() -> urllib.request.OpenerDirector:
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.HTTPDefaultErrorHandler,
    ):
        opener.add_handler(handler())
    return opener


# The opener uses no proxy, as a WebSocket connection uses none. It returns a redirect as a reply, because
# following it would turn the POST into a GET.
_OPENER: Final = _opener()


def post(
    url: str, text: str, *, seconds: float | None = None, most_bytes: int = MAX_MESSAGE_BYTES
) -> HttpReply:
    """Return the reply to a POST of JSON text.

    Raises:
        ConnectionError: There is none, nothing arrives for `seconds`, or the body is too long.
    """
    request = urllib.request.Request(url, text.encode(), {"Content-Type": "application/json"})
    try:
        with _OPENER.open(request, timeout=seconds) as reply:
            return HttpReply(reply.status, _read_body(reply, most_bytes))
    except urllib.error.HTTPError as error:
        # A JSON-RPC error may come with any status.
        with error:
            return HttpReply(error.code, _read_body(error, most_bytes))
    except urllib.error.URLError as error:
        raise ConnectionError(f"{shown(url)}: {reason_of(error.reason)}") from error
    except http.client.HTTPException as error:
        raise ConnectionError(f"no HTTP reply: {error!r:.200}") from error


def _read_body(reply: IO[bytes], most_bytes: int) -> bytes:
    """Return the body of a reply.

    Raises:
        ConnectionError: It is cut short, or has more than `most_bytes` bytes.
    """
    try:
        body = reply.read(most_bytes + 1)
    except http.client.HTTPException as error:
        raise ConnectionError(f"no HTTP reply: {error!r:.200}") from error
    if len(body) > most_bytes:
        raise ConnectionError(f"a reply has more than {most_bytes} bytes")
    return body


def reason_of(error: object) -> str:
    """Return the system's reason of a failed connection; trio groups the reasons of several addresses."""
    causes = getattr(getattr(error, "__cause__", None), "exceptions", None) or (error,)
    return str(getattr(causes[0], "strerror", None) or causes[0])
