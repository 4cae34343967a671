"""JSON-RPC as a client writes and reads it; results stay JSON text, which may be megabytes."""

from collections.abc import Mapping
from typing import Any

import msgspec

from wsnode.upstream.errors import RefusedError, UpstreamError

NOTHING = b"null"


class Fault(msgspec.Struct):
    """The error of a reply; some nodes leave out required members."""

    code: int | float = 0
    message: str = ""


class Event(msgspec.Struct):
    """An event of a subscription."""

    subscription: str
    result: msgspec.Raw = msgspec.Raw(NOTHING)


class Message(msgspec.Struct):
    """A reply or a notification: what counts of either."""

    id: int | str | None = None
    result: msgspec.Raw = msgspec.Raw(NOTHING)
    error: Fault | None = None
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw(NOTHING)


_MESSAGE = msgspec.json.Decoder(Message)
_BATCH = msgspec.json.Decoder(list[Message])
_EVENT = msgspec.json.Decoder(Event)


def encode_call(number: int, method: str, params: list[Any]) -> bytes:
    """Return the text of a call."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def encode_batch(method: str, calls: Mapping[int, list[Any]]) -> bytes:
    """Return the text of a batch of calls of one method, by their numbers."""
    return b"[%b]" % b",".join(encode_call(number, method, params) for number, params in calls.items())


def decode_batch(text: bytes | str) -> list[Message]:
    """Return the messages of a batch, or the only one of a text that is none.

    Raises:
        msgspec.DecodeError: It is neither.
    """
    return _BATCH.decode(text) if text[:1] in (b"[", "[") else [_MESSAGE.decode(text)]


def decode_event(message: Message) -> Event:
    """Return the event in a notification.

    Raises:
        msgspec.DecodeError: It is no subscription's.
    """
    return _EVENT.decode(message.params)


def result_of(message: Message, retry_after: float | None = None) -> bytes:
    """Return the JSON text of a reply's result.

    Raises:
        RefusedError: The reply is an error.
    """
    if message.error is not None:
        raise RefusedError(int(message.error.code), message.error.message[:200], retry_after)
    return bytes(message.result)


def result_or_refusal(message: Message | None) -> bytes | RefusedError:
    """Return the JSON text of a result in a batch, or why there is none."""
    if message is None:
        return RefusedError(0, "the batch was answered without it")
    try:
        return result_of(message)
    except RefusedError as refused:
        return refused


def decode_result(text: bytes) -> Any:
    """Return a result as Python has it.

    Raises:
        UpstreamError: It is no JSON.
    """
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise UpstreamError("invalid", str(error)) from None
