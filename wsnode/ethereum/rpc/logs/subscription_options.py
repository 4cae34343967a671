"""The parameters of eth_subscribe: the kind, the filter of logs, the starting position and the form."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final

import msgspec

from wsnode.ethereum.live.arrivals import Awaited, Seen
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.live.receipts import Hashes
from wsnode.ethereum.live.subjects import Form
from wsnode.ethereum.rpc.form.decoding import ARGUMENT, field, kind, mismatch
from wsnode.ethereum.rpc.form.parameters import LATEST, NumberOrTag, decode_block_number, decode_hash
from wsnode.ethereum.rpc.logs.filter_object import FilterObject, decode_filter_object
from wsnode.ethereum.rpc.logs.schemas import IDENTITY
from wsnode.jsonrpc.codec import UNREADABLE, register_type
from wsnode.jsonrpc.errors import METHOD_NOT_FOUND, RpcError, invalid_params, server_error
from wsnode.jsonrpc.parameters import Explaining
from wsnode.jsonrpc.schema import reference

_decode_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_value = msgspec.json.Decoder().decode


MOST_HASHES: Final = 200
"""Transactions that one subscription to receipts may name, as in geth."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The position where a subscription begins, and the form of its events."""

    from_block: NumberOrTag | None = None
    """The first block of a replay; None without one."""
    cursor: Position | None = None
    form: Form = Form()


class SubscribeParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[kind, argument, options]`; the kind decides the argument, only pending transactions have
    `options`.
    """

    kind: str
    argument: Annotated[Any, msgspec.Meta(extra_json_schema=reference("SubscriptionArgument"))] = None
    """A `FilterObject` or hashes with `Options`, `Options`, a bool, or nothing."""
    options: Annotated[Any, msgspec.Meta(extra_json_schema=reference("PendingOptions"))] = None
    """Whether a subscription to pending transactions has notices."""

    def named_blocks(self) -> Iterator[Awaited]:
        """Yield the block of the cursor; other bounds may lie in the future."""
        parts = self.argument if isinstance(self.argument, tuple) else (self.argument,)
        for options in parts:
            if isinstance(options, Options) and options.cursor is not None:
                yield Seen(options.cursor.number, options.cursor.hash)


class SubscriptionId(str):
    """The id that eth_subscribe or an eth_new…Filter method returned."""

    __slots__ = ()


class IdParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[id]`."""

    id: SubscriptionId


class SubscribeDecoder(Explaining):
    """Decodes the parameters; the first decides how the second is read."""

    struct: type[msgspec.Struct] | None = SubscribeParameters

    def decode(self, params: bytes) -> SubscribeParameters:
        """Return the kind and its argument.

        Raises:
            RpcError: The parameters are invalid, in geth's words.
        """
        return self.explain(bytes(params))

    def explain(self, params: bytes) -> SubscribeParameters:
        """Return the kind and its argument, as `decode` does."""
        if not params.startswith(b"["):
            raise invalid_params("non-array args")
        arguments = _decode_items(params)
        name = _value_of(0, arguments[0]) if arguments else None
        if type(name) is not str:
            raise invalid_params("expected subscription name as first argument")
        if (decoders := _ARGUMENTS.get(name)) is None:
            raise RpcError(METHOD_NOT_FOUND, f'no "{name}" subscription in eth namespace')
        if len(arguments) > (most := 1 + len(decoders)):
            raise invalid_params(f"too many arguments, want at most {most}")
        given = dict(enumerate(map(_value_of, range(len(arguments)), arguments)))
        values = [_decoded(decode, place, given.get(place)) for place, decode in enumerate(decoders, 1)]
        return SubscribeParameters(name, *values)


def _value_of(place: int, argument: msgspec.Raw) -> Any:
    try:
        return _decode_value(argument)
    except UNREADABLE as error:
        raise invalid_params(f"invalid argument {place}: {error}") from None


def _decoded(decode: Callable[[Any], Any], place: int, value: Any) -> Any:
    try:
        return decode(value)
    except (ValueError, *UNREADABLE) as error:
        raise invalid_params(f"invalid argument {place}: {error}") from None


def _flag(value: Any, place: str = ARGUMENT) -> bool:
    if type(value) not in (bool, type(None)):
        raise mismatch(kind(value), "bool", place)
    return bool(value)


def _filter(value: Any) -> tuple[FilterObject, Options]:
    if value is None:
        raise invalid_params("missing value for required argument 1")
    filter_object = decode_filter_object(value)
    # Clients write `latest` when they mean new logs only: go-ethereum's from block 0, cast from the earliest.
    first = None if filter_object.to_block == LATEST else filter_object.from_block
    return filter_object, _options(value, first)


def _hashes(value: Any) -> tuple[Hashes, Options]:
    options = _header_options(value)
    members = {} if value is None else {name.lower(): member for name, member in value.items()}
    place = field("input", "transactionHashes")
    hashes = members.get("transactionhashes")
    if type(hashes) not in (list, type(None)):
        raise mismatch(kind(hashes), "[]common.Hash", place)
    wanted = frozenset(bytes(decode_hash(text, place)) for text in hashes or ())
    if len(hashes or ()) > MOST_HASHES:
        message = "exceed max number of transaction hashes allowed per transactionReceipts subscription"
        raise server_error(message)
    return wanted, options


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
    # Clients written for geth give a first block too, and mean new logs only.
    replays = cursors and from_block != LATEST
    return Options(
        from_block=from_block if replays else None,
        cursor=cursor,
        form=Form(cursors or cursor is not None, reorgs),
    )


def _has_notices(value: Any) -> bool:
    if value is None:
        return False
    if type(value) is not dict:
        raise mismatch(kind(value), "filters.input")
    return _flag(value.get("notices"), field("input", "notices"))


def _decode_id(value: Any) -> SubscriptionId:
    if type(value) is not str:
        raise mismatch(kind(value), "rpc.ID")
    return SubscriptionId(value)


_ARGUMENTS: Final[dict[str, tuple[Callable[[Any], Any], ...]]] = {
    "logs": (_filter,),
    "newHeads": (_header_options,),
    "newPendingTransactions": (_flag, _has_notices),
    "syncing": (),
    "transactionReceipts": (_hashes,),
}

register_type(SubscriptionId, _decode_id, IDENTITY)
