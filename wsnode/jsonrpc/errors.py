"""Errors that a caller is told; every other exception is our bug and becomes `internal_error`."""

from typing import Any

import msgspec

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SERVER_ERROR = -32000
TIMED_OUT = -32002
RESPONSE_TOO_LARGE = -32003
LIMIT_EXCEEDED = -32005

METHOD_NAME_BYTES = 2048


class RpcError(Exception):
    """An error reply: `code`, `message` and, unless `UNSET`, `data`."""

    def __init__(self, code: int, message: str, data: Any = msgspec.UNSET) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class TimeLimitError(Exception):
    """Thrown into a pending call whose step did not end within its `seconds`."""


class NeverBegunError(TimeLimitError):
    """The same, where all of them went by while the step waited for its turn."""


def parse_error(detail: str) -> RpcError:
    """Return the error for a text that is not JSON."""
    return RpcError(PARSE_ERROR, "parse error", detail)


def invalid_request(message: str = "invalid request") -> RpcError:
    """Return the error for JSON that is not a request."""
    return RpcError(INVALID_REQUEST, message)


def invalid_params(message: str, data: Any = msgspec.UNSET) -> RpcError:
    """Return the error for arguments that a method does not take."""
    return RpcError(INVALID_PARAMS, message, data)


def method_not_found(name: str, data: Any = msgspec.UNSET) -> RpcError:
    """Return the error for a method that nobody registered."""
    if len(size := name.encode(errors="replace")) > METHOD_NAME_BYTES:
        return invalid_request(f"method name too long: {len(size)} > {METHOD_NAME_BYTES}")
    return RpcError(METHOD_NOT_FOUND, f"the method {name} does not exist/is not available", data)


def notifications_not_supported() -> RpcError:
    """Return the error for a subscription where only replies can be sent, as over HTTP."""
    return RpcError(METHOD_NOT_FOUND, "notifications not supported")


def server_error(message: str, data: Any = msgspec.UNSET) -> RpcError:
    """Return an error of the unclassified kind."""
    return RpcError(SERVER_ERROR, message, data)


def limit_exceeded(message: str, data: Any = msgspec.UNSET) -> RpcError:
    """Return the error for a call beyond a limit in force."""
    return RpcError(LIMIT_EXCEEDED, message, data)


def out_of_time(error: TimeLimitError, timeout_error: RpcError) -> RpcError:
    """Return `timeout_error` for a call that took too long; for one never begun the server is busy."""
    return server_busy() if isinstance(error, NeverBegunError) else timeout_error


def server_busy() -> RpcError:
    """Return the error for a call whose time was up before its turn came."""
    return limit_exceeded("the server is busy: the call was not begun in time, try again")


def response_too_large() -> RpcError:
    """Return the error that stands for a reply above its limit."""
    return RpcError(RESPONSE_TOO_LARGE, "response too large")


def request_timed_out() -> RpcError:
    """Return the error for a call that had no time left."""
    return RpcError(TIMED_OUT, "request timed out")


def internal_error(request: str) -> RpcError:
    """Return what a caller learns of a bug: that there is one, and under which number it was logged."""
    return RpcError(INTERNAL_ERROR, "internal error", {"request": request})
