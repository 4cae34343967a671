"""What eth_subscribe takes: the kind, the filter of logs, and from where on in which form."""

from typing import Annotated, Any, Final

import msgspec

from wsnode.ethereum.live.position import Position
from wsnode.ethereum.live.subjects import Form
from wsnode.ethereum.rpc.log_filter import LogFilter, decode_log_filter
from wsnode.ethereum.rpc.parameters import LATEST, NumberOrTag, decode_block_number
from wsnode.ethereum.rpc.words import ARGUMENT, field, kind, mismatch
from wsnode.jsonrpc.codec import UNREADABLE, register_type
from wsnode.jsonrpc.errors import METHOD_NOT_FOUND, RpcError, invalid_params
from wsnode.jsonrpc.json_schema import reference

_decode_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_value = msgspec.json.Decoder().decode


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """From where on, and in which form."""

    from_block: NumberOrTag | None = None
    cursor: Position | None = None
    form: Form = Form()


class SubscribeParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[kind, argument]`; which argument depends on the kind."""

    kind: str
    argument: Annotated[Any, msgspec.Meta(extra_json_schema=reference("SubscriptionArgument"))] = None
    """A `LogFilter` with `Options`, `Options`, a bool, or nothing."""


class SubscriptionId(str):
    """The id that eth_subscribe or a filter's method returned."""

    __slots__ = ()


class IdParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[id]`."""

    id: SubscriptionId


class SubscribeDecoder:
    """Decodes the parameters, the second one by the first."""

    struct: type[msgspec.Struct] | None = SubscribeParameters

    def decode(self, params: bytes) -> SubscribeParameters:
        """Return the kind and its argument.

        Raises:
            RpcError: What does not fit, in geth's words.
        """
        return self.explain(bytes(params))

    def explain(self, params: bytes) -> SubscribeParameters:
        """Return the same."""
        if not params.startswith(b"["):
            raise invalid_params("non-array args")
        arguments = _decode_items(params)
        name = _decode_value(arguments[0]) if arguments else None
        if type(name) is not str:
            raise invalid_params("expected subscription name as first argument")
        if (decode := _ARGUMENTS.get(name)) is None:
            raise RpcError(METHOD_NOT_FOUND, f'no "{name}" subscription in eth namespace')
        if len(arguments) > (most := 1 if decode is _nothing else 2):
            raise invalid_params(f"too many arguments, want at most {most}")
        value = _decode_value(arguments[1]) if len(arguments) > 1 else None
        try:
            return SubscribeParameters(name, decode(value))
        except (ValueError, *UNREADABLE) as error:
            raise invalid_params(f"invalid argument 1: {error}") from None


def _nothing(_value: Any) -> None:
    return None


def _flag(value: Any, place: str = ARGUMENT) -> bool:
    if type(value) not in (bool, type(None)):
        raise mismatch(kind(value), "bool", place)
    return bool(value)


def _filter(value: Any) -> tuple[LogFilter, Options]:
    if value is None:
        raise invalid_params("missing value for required argument 1")
    wanted = decode_log_filter(value)
    # go-ethereum's client writes this for a query that names no blocks, and means new logs only.
    is_default = wanted.from_block == 0 and wanted.to_block == LATEST
    return wanted, _options(value, None if is_default else wanted.from_block)


def _header_options(value: Any) -> Options:
    if value is None:
        return Options()
    if type(value) is not dict:
        raise mismatch(kind(value), "filters.input")
    from_block = value.get("fromBlock")
    return _options(value, None if from_block is None else decode_block_number(from_block))


def _options(members: dict[str, Any], from_block: NumberOrTag | None) -> Options:
    text = members.get("cursor")
    if text is not None and from_block is not None:
        raise ValueError("cannot specify both cursor and fromBlock, choose one or the other")
    cursor = None if text is None else Position.parse(text)
    cursors, reorgs = (_flag(members.get(name), field("input", name)) for name in ("cursors", "reorgs"))
    history = cursor is not None or from_block not in (None, LATEST)
    return Options(
        from_block=None if from_block == LATEST else from_block,
        cursor=cursor,
        form=Form(cursors or history, reorgs),
    )


def _decode_id(value: Any) -> SubscriptionId:
    if type(value) is not str:
        raise mismatch(kind(value), "rpc.ID")
    return SubscriptionId(value)


_ARGUMENTS: Final = {
    "logs": _filter,
    "newHeads": _header_options,
    "newPendingTransactions": _flag,
    "syncing": _nothing,
}

register_type(SubscriptionId, _decode_id)
