"""Errors of JSON-RPC; any other exception is a bug of the node and becomes `internal_error`.

Codes for all methods are defined here, those of one family's methods in its `rpc` folder;
docs/reference/errors.md lists both.
"""

import re
from typing import Any

import msgspec

# JSON-RPC 2.0, 5.1.
PARSE_ERROR = -32700
"""JSON-RPC 2.0. The text is not JSON; `data` says where."""
INVALID_REQUEST = -32600
"""JSON-RPC 2.0. JSON that is no request; a request that is not allowed by path, host, origin or key; an empty
batch, or one with too many calls.
"""
METHOD_NOT_FOUND = -32601
"""JSON-RPC 2.0. The method does not exist, is not allowed for this key, or is not available over HTTP:
`notifications not supported`.
"""
INVALID_PARAMS = -32602
"""JSON-RPC 2.0. An argument is malformed, missing or superfluous."""
INTERNAL_ERROR = -32603
"""JSON-RPC 2.0. A bug of the node, logged under the number in `data`; also geth's own uses of this code."""

SERVER_ERROR = -32000
"""EIP-1474. Errors for which geth has no other code; the message gives the reason."""
RESOURCE_NOT_FOUND = -32001
"""EIP-1474. A cursor, or the data of a subscription, is no longer stored or does not exist yet; with `behind`
in `data` other nodes have it already.
"""
RESOURCE_UNAVAILABLE = -32002
"""EIP-1474. Another node that this one needs failed."""
# geth's rpc/errors.go.
TIMED_OUT = -32002
"""geth. The batch or the call ran out of time; the message distinguishes it from EIP-1474's meaning."""
RESPONSE_TOO_LARGE = -32003
"""geth. A reply, or the replies of a batch together, are too large."""
# EIP-1474 has "transaction rejected" for -32003; geth, and so this node, answers -32000 there.
LIMIT_EXCEEDED = -32005
"""EIP-1474. A limit is exceeded: the call may succeed later, or with less. In a notice: the client reads too
slowly.
"""
RESTARTING = -32006
"""wsnode. Only in a subscription's last notice; EIP-1474's meaning (version not supported) does not occur."""

METHOD_NAME_BYTES = 2048
ECHO_CHARACTERS = 100
"""Maximum characters of a client's text that a message repeats."""
MESSAGE_CHARACTERS = 512
"""Maximum characters of a message; the longest message of wsnode, with three amounts and an address, has some
400.
"""


_UNBROKEN = re.compile(rf"\S{{{ECHO_CHARACTERS + 1},}}")


class RpcError(Exception):
    """Error reply of JSON-RPC: `code`, `message` and, unless `UNSET`, `data`.

    The message is cut, because it may repeat parts of a request: a word to `ECHO_CHARACTERS`, and the whole
    to `MESSAGE_CHARACTERS`.
    """

    def __init__(self, code: int, message: str, data: Any = msgspec.UNSET) -> None:
        if len(message) > ECHO_CHARACTERS:
            message = short_message(message)
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


def shortened(text: str) -> str:
    """Return `text`, or its first `ECHO_CHARACTERS` if it is longer."""
    return text if len(text) <= ECHO_CHARACTERS else f"{text[: ECHO_CHARACTERS - 3]}..."


def short_message(message: str) -> str:
    """Return `message` with long words and its middle cut; a short one unchanged."""
    # The middle of a long message repeats the request; its end may give the reason.
    if len(message) > 2 * MESSAGE_CHARACTERS:
        message = f"{message[:MESSAGE_CHARACTERS]}... {message[-ECHO_CHARACTERS:]}"
    message = _UNBROKEN.sub(lambda match: shortened(match[0]), message)
    if len(message) > MESSAGE_CHARACTERS:
        message = f"{message[: MESSAGE_CHARACTERS - ECHO_CHARACTERS - 4]}... {message[-ECHO_CHARACTERS:]}"
    return message


class TimeLimitError(Exception):
    """Error thrown into a call whose step, such as work in a thread, took longer than its `seconds`."""


class NotStartedError(TimeLimitError):
    """Error thrown into a call whose step was still waiting to begin when its `seconds` had passed."""


def parse_error(detail: str) -> RpcError:
    """Return the error for a text that is not JSON."""
    return RpcError(PARSE_ERROR, "parse error", detail)


def invalid_request(message: str = "invalid request") -> RpcError:
    """Return the error for JSON that is not a request."""
    return RpcError(INVALID_REQUEST, message)


def invalid_params(message: str, data: Any = msgspec.UNSET) -> RpcError:
    """Return the error for arguments that a method does not accept."""
    return RpcError(INVALID_PARAMS, message, data)


def method_not_found(name: str, data: Any = msgspec.UNSET) -> RpcError:
    """Return the error for an unknown method."""
    if len(size := name.encode(errors="replace")) > METHOD_NAME_BYTES:
        return invalid_request(f"method name too long: {len(size)} > {METHOD_NAME_BYTES}")
    return RpcError(METHOD_NOT_FOUND, f"the method {name} does not exist/is not available", data)


def notifications_not_supported() -> RpcError:
    """Return the error for a subscription where only replies can be sent, as over HTTP."""
    return RpcError(METHOD_NOT_FOUND, "notifications not supported")


def server_error(message: str, data: Any = msgspec.UNSET) -> RpcError:
    """Return an error with the unclassified code -32000."""
    return RpcError(SERVER_ERROR, message, data)


def limit_exceeded(message: str, data: Any = msgspec.UNSET) -> RpcError:
    """Return the error for a call that exceeds a limit."""
    return RpcError(LIMIT_EXCEEDED, message, data)


def out_of_time(error: TimeLimitError, timeout_error: RpcError) -> RpcError:
    """Return `timeout_error` for a call that ran too long, `server_busy` for one not begun in time."""
    return server_busy() if isinstance(error, NotStartedError) else timeout_error


def server_busy() -> RpcError:
    """Return the error for a call that was not begun in time."""
    return limit_exceeded("the server is busy: the call was not begun in time, try again")


def response_too_large() -> RpcError:
    """Return the error in place of a reply that exceeds its limit."""
    return RpcError(RESPONSE_TOO_LARGE, "response too large")


def request_timed_out() -> RpcError:
    """Return the error for a call or a batch that ran out of time."""
    return RpcError(TIMED_OUT, "request timed out")


def internal_error(request: str) -> RpcError:
    """Return the error for a bug of the node; `request` is the number of its log line."""
    return RpcError(INTERNAL_ERROR, "internal error", {"request": request})
