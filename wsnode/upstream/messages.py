"""JSON-RPC as a client writes and reads it; results stay JSON text, because they may have megabytes."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from wsnode.untrusted.decoding import JsonDecoder, MalformedError, decode_json, require_text
from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError

NOTHING = b"null"
ETH_SUBSCRIBE: Final = "eth_subscribe"
MAX_IDENTITY = 256
"""Maximum characters of a subscription's id."""
MAX_CODE = 1 << 63
"""Bound of error codes: a code of this size or more is read as 0."""


Params: TypeAlias = list[Any] | dict[str, Any]
"""Parameters by position, or by name where the other side takes them so."""


class ErrorObject(msgspec.Struct):
    """Error of a reply; both members have defaults, since some nodes leave them out."""

    code: int | float = 0
    message: str = ""
    data: msgspec.Raw = msgspec.Raw(b"")


class UpstreamNotification(msgspec.Struct):
    """Event of a subscription, whose id has the name of Ethereum's or of Starknet's specification."""

    subscription: str | None = None
    subscription_id: str | int | None = None
    result: msgspec.Raw = msgspec.Raw(NOTHING)

    @property
    def identity(self) -> str:
        """Return the id of the subscription; some nodes send a number for a string."""
        return str(self.subscription_id if self.subscription is None else self.subscription)


class UpstreamMessage(msgspec.Struct):
    """Reply or notification, with the members that either may have."""

    id: int | str | None = None
    result: msgspec.Raw = msgspec.Raw(NOTHING)
    error: ErrorObject | None = None
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw(NOTHING)


_MESSAGE = JsonDecoder(UpstreamMessage)
_BATCH = JsonDecoder[list[UpstreamMessage]](list[UpstreamMessage])
_EVENT = JsonDecoder(UpstreamNotification)
_IDENTITY = JsonDecoder[str | int](Annotated[str, msgspec.Meta(max_length=MAX_IDENTITY)] | int)


def encode_call(number: int, method: str, params: Params) -> bytes:
    """Return the JSON text of a call."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def encode_batch(method: str, calls: Mapping[int, list[Any]]) -> bytes:
    """Return the JSON text of a batch of calls to one method; `calls` maps ids to parameters."""
    return b"[%b]" % b",".join(encode_call(number, method, params) for number, params in calls.items())


def decode_batch(text: bytes | str) -> list[UpstreamMessage]:
    """Return the messages of a batch, or a list with the only message of any other text.

    Raises:
        MalformedError: The text is neither.
    """
    require_text(text)
    return _BATCH.decode(text) if text[:1] in (b"[", "[") else [_MESSAGE.decode(text)]


def decode_event(message: UpstreamMessage) -> UpstreamNotification:
    """Return the event in a notification.

    Raises:
        MalformedError: The notification is not one of a subscription.
    """
    event = _EVENT.decode(message.params)
    if event.subscription is None and event.subscription_id is None:
        raise MalformedError("an event names no subscription")
    return event


def decode_identity(message: UpstreamMessage) -> str:
    """Return the subscription's id in the reply to `eth_subscribe`.

    Raises:
        MalformedError: The reply has no id of a subscription.
    """
    return str(_IDENTITY.decode(message.result))


def result_of(message: UpstreamMessage, retry_after: float | None = None) -> bytes:
    """Return the JSON text of a reply's result.

    Raises:
        UpstreamRefusedError: The reply is an error.
    """
    if message.error is not None:
        code = message.error.code if abs(message.error.code) < MAX_CODE else 0
        data = bytes(message.error.data)
        raise UpstreamRefusedError(int(code), message.error.message, retry_after, data)
    return bytes(message.result)


def result_or_refusal(message: UpstreamMessage | None) -> bytes | UpstreamRefusedError:
    """Return the JSON text of a result in a batch, or the refusal in its place; None stands for a missing
    reply.
    """
    if message is None:
        return UpstreamRefusedError(0, "the replies to the batch lack this call")
    try:
        return result_of(message)
    except UpstreamRefusedError as refused:
        return refused


def decode_result(text: bytes) -> Any:
    """Return a result as a Python value.

    Raises:
        UpstreamError: The text is no JSON.
    """
    try:
        return decode_json(text)
    except MalformedError as error:
        raise UpstreamError("invalid", str(error)) from None
