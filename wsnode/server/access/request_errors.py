"""Refusals of handshakes and HTTP requests before any call is parsed."""

from collections.abc import Mapping

from wsnode.jsonrpc.errors import RpcError, invalid_request


class HttpRequestRefusedError(Exception):
    """Refusal of a handshake or an HTTP request, with an HTTP status and a JSON-RPC error as its body."""

    def __init__(self, status: int, error: RpcError, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, error)
        self.status = status
        self.error = error
        self.headers = dict(headers or {})


def bad_request(message: str) -> HttpRequestRefusedError:
    """Return the refusal (400) of a request that is malformed as HTTP."""
    return HttpRequestRefusedError(400, invalid_request(message))
