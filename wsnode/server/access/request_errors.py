"""Refusals of handshakes and HTTP requests before any call is parsed."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from wsnode.jsonrpc.errors import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    LIMIT_EXCEEDED,
    RESOURCE_NOT_FOUND,
    RpcError,
    invalid_request,
)


class HttpErrorStatus(NamedTuple):
    """Meaning of one HTTP status of refusals: the codes of the JSON-RPC errors in the body, and the causes in
    words.
    """

    codes: Sequence[int]
    causes: str


HTTP_ERROR_STATUSES: Final[Mapping[int, HttpErrorStatus]] = {
    400: HttpErrorStatus(
        (INVALID_REQUEST, INVALID_PARAMS),
        "The request is malformed as HTTP or as a handshake, its body is not what `Content-Encoding` says, "
        "or its header names no block.",
    ),
    401: HttpErrorStatus(
        (INVALID_REQUEST,), "The API key is missing, unknown or revoked; the Engine API's token is not valid."
    ),
    403: HttpErrorStatus((INVALID_REQUEST,), "The host name or the origin is not allowed."),
    404: HttpErrorStatus((INVALID_REQUEST,), "The path or the host name leads to no network."),
    405: HttpErrorStatus((INVALID_REQUEST,), "The method is not POST."),
    408: HttpErrorStatus((INVALID_REQUEST,), "The request did not arrive in time."),
    413: HttpErrorStatus(
        (INVALID_REQUEST,), "The body is larger than `body_bytes`, as sent or decompressed."
    ),
    415: HttpErrorStatus((INVALID_REQUEST,), "The content type or the content encoding is not supported."),
    426: HttpErrorStatus((INVALID_REQUEST,), "The path is for WebSocket."),
    429: HttpErrorStatus(
        (LIMIT_EXCEEDED,), "The key's connections are in use, or its rates allow no call of the body."
    ),
    431: HttpErrorStatus((INVALID_REQUEST,), "The head is larger than `head_bytes`."),
    501: HttpErrorStatus((INVALID_REQUEST,), "The transfer encoding is not `chunked`."),
    503: HttpErrorStatus(
        (LIMIT_EXCEEDED, RESOURCE_NOT_FOUND),
        "Too many connections or bytes, the node is about to stop, or a block that the header names is late.",
    ),
}
"""HTTP statuses of refusals. A call that was answered has status 200, with its error in the body."""


class HttpRequestRefusedError(Exception):
    """Refusal of a handshake or an HTTP request, with an HTTP status and a JSON-RPC error as its body."""

    def __init__(self, status: int, error: RpcError, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, error)
        self.status = status
        self.error = error
        self.headers = dict(headers or {})


def try_later(status: int, error: RpcError, seconds: int = 1) -> HttpRequestRefusedError:
    """Return a refusal whose header `Retry-After` is `seconds` (RFC 9110, section 10.2.3)."""
    return HttpRequestRefusedError(status, error, {"Retry-After": str(seconds)})


def bad_request(message: str) -> HttpRequestRefusedError:
    """Return the refusal (400) of a request that is malformed as HTTP."""
    return HttpRequestRefusedError(400, invalid_request(message))
