"""The parameters of eth_subscribe: the kind, the filter, the starting position and the form."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final

import msgspec

from wsnode.ethereum.live.block_barrier import Awaited, SeenHead
from wsnode.ethereum.live.contents import BlockContentOptions, Hashes, TransactionFilter
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.live.subscription_spec import Extensions
from wsnode.ethereum.rpc.common.decoding import field, kind, mismatch
from wsnode.ethereum.rpc.common.parameters import LATEST, NumberOrTag, decode_block_number, decode_hash
from wsnode.ethereum.rpc.logs.filter_object import (
    FilterObject,
    decode_filter_object,
    refuse_misspelt,
    require_known,
)
from wsnode.ethereum.rpc.logs.live_values import CallOptions, StateOptions, decode_calls, decode_state
from wsnode.ethereum.rpc.logs.schemas import IDENTITY, MAX_HASHES
from wsnode.ethereum.rpc.logs.transaction_filters import (
    OF_PENDING,
    decode_flag,
    decode_mined,
    decode_pending,
    decode_pending_filter,
)
from wsnode.jsonrpc.codec import UNREADABLE, register_type
from wsnode.jsonrpc.errors import METHOD_NOT_FOUND, RpcError, invalid_params, server_error
from wsnode.jsonrpc.parameters import ParameterDecoder
from wsnode.jsonrpc.schema import reference

_FORM: Final = ("cursors", "cursor", "reorgs")
"""Members that no other node has."""
_decode_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_value = msgspec.json.Decoder().decode


class SubscribeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a subscription beside its filter: where it begins (`fromBlock` or `cursor`), and wsnode's
    additional members of its notifications.
    """

    from_block: NumberOrTag | None = None
    """The first block of a replay; None without one."""
    cursor: Position | None = None
    form: Extensions = Extensions()


class SubscribeParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[kind, argument, options]`: the subscription's name, its filter or options, in a form that depends on
    the name, and `options` for pending transactions only.
    """

    kind: str
    argument: Annotated[Any, msgspec.Meta(extra_json_schema=reference("SubscriptionArgument"))] = None
    """A `FilterObject`, hashes or `BlockContentOptions` with `SubscribeOptions`, `SubscribeOptions`, a
    filter of transactions, a bool, or nothing.
    """
    options: Annotated[Any, msgspec.Meta(extra_json_schema=reference("PendingOptions"))] = None
    """`PendingOptions`."""

    def named_blocks(self) -> Iterator[Awaited]:
        """Yield the block of the cursor; other bounds may lie in the future."""
        for options in self._parts:
            if (
                isinstance(options, SubscribeOptions | StateOptions | CallOptions)
                and options.cursor is not None
            ):
                yield SeenHead(options.cursor.head.number, options.cursor.head.hash)

    @property
    def _parts(self) -> tuple[Any, ...]:
        return self.argument if isinstance(self.argument, tuple) else (self.argument,)

    @property
    def start(self) -> SubscribeOptions | None:
        """Return the options that say where the subscription begins, None if its kind takes none."""
        return next((part for part in self._parts if isinstance(part, SubscribeOptions)), None)

    def starting_at(self, position: Position) -> "SubscribeParameters":
        """Return the parameters with a cursor for the place where it begins."""
        parts = tuple(
            msgspec.structs.replace(part, cursor=position) if isinstance(part, SubscribeOptions) else part
            for part in self._parts
        )
        return msgspec.structs.replace(self, argument=parts if len(parts) > 1 else parts[0])


class PendingOptions(msgspec.Struct, frozen=True):
    """Options of a subscription to pending transactions: the filter, and True to send notices of lost
    transactions and of a restart.
    """

    wanted: TransactionFilter = TransactionFilter()
    has_notices: bool = False


class SubscriptionId(str):
    """The id that eth_subscribe or an eth_new…Filter method returned."""

    __slots__ = ()


class IdParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[id]`, as eth_subscribe or an eth_new…Filter method returned it."""

    id: SubscriptionId


class SubscribeDecoder(ParameterDecoder):
    """Decoder of the parameters of eth_subscribe, whose kind decides how the other arguments are read."""

    struct: type[msgspec.Struct] | None = SubscribeParameters

    def decode(self, params: bytes) -> SubscribeParameters:
        """Return the kind and its argument.

        Raises:
            RpcError: The parameters are invalid, in geth's words.
        """
        return self.explain(bytes(params))

    def explain(self, params: bytes) -> SubscribeParameters:
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


def _filter(value: Any) -> tuple[FilterObject, SubscribeOptions]:
    if value is None:
        raise invalid_params("missing value for required argument 1")
    filter_object = decode_filter_object(value)
    refuse_misspelt(value, _FORM)
    # Clients send `latest` as `toBlock` when they want new logs only: go-ethereum's client with `fromBlock`
    # 0, cast with `earliest`.
    first = None if filter_object.to_block == LATEST else filter_object.from_block
    return filter_object, _options(value, first)


def _hashes(value: Any) -> tuple[Hashes, SubscribeOptions]:
    options = _header_options(value, is_ours=True)
    members = {} if value is None else {name.lower(): member for name, member in value.items()}
    place = field("input", "transactionHashes")
    hashes = members.get("transactionhashes")
    if type(hashes) not in (list, type(None)):
        raise mismatch(kind(hashes), "[]common.Hash", place)
    if len(hashes or ()) > MAX_HASHES:
        message = "exceed max number of transaction hashes allowed per transactionReceipts subscription"
        raise server_error(message)
    return frozenset(bytes(decode_hash(text, place)) for text in hashes or ()), options


def _block_options(value: Any) -> tuple[BlockContentOptions, SubscribeOptions]:
    if value is None:
        return BlockContentOptions(), SubscribeOptions()
    if type(value) is not dict:
        raise mismatch(kind(value), "filters.input")
    require_known(value, ("transactions", "receipts", *_FORM))
    transactions, receipts = (
        decode_flag(value.get(name), field("input", name)) for name in ("transactions", "receipts")
    )
    return BlockContentOptions(transactions, receipts), _options(value, None)


def _header_options(value: Any, *, is_ours: bool = False) -> SubscribeOptions:
    """Return the options in an object; one that is not `is_ours` may have members of others."""
    if value is None:
        return SubscribeOptions()
    if type(value) is not dict:
        raise mismatch(kind(value), "filters.input")
    if is_ours:
        # go-ethereum's client writes TransactionHashes.
        require_known(value, ("fromBlock", *_FORM), in_any_case=("transactionHashes",))
    else:
        refuse_misspelt(value, _FORM)
    from_block = value.get("fromBlock")
    return _options(value, None if from_block is None else decode_block_number(from_block))


def _options(members: dict[str, Any], from_block: NumberOrTag | None) -> SubscribeOptions:
    text = members.get("cursor")
    if text is not None and from_block is not None:
        raise ValueError("cannot specify both cursor and fromBlock, choose one or the other")
    cursor = None if text is None else Position.parse(text)
    cursors, reorgs = (decode_flag(members.get(name), field("input", name)) for name in ("cursors", "reorgs"))
    # Clients written for geth also send `fromBlock` when they want new logs only, so it counts only with
    # `cursors`.
    replays = cursors and from_block != LATEST
    return SubscribeOptions(
        from_block=from_block if replays else None,
        cursor=cursor,
        form=Extensions(cursors or cursor is not None, reorgs),
    )


def _pending_options(value: Any) -> PendingOptions:
    if value is None:
        return PendingOptions()
    if type(value) is not dict:
        raise mismatch(kind(value), "filters.input")
    require_known(value, (*OF_PENDING, "notices"))
    return PendingOptions(
        decode_pending_filter(value), decode_flag(value.get("notices"), field("input", "notices"))
    )


def _decode_id(value: Any) -> SubscriptionId:
    if type(value) is not str:
        raise mismatch(kind(value), "rpc.ID")
    return SubscriptionId(value)


_ARGUMENTS: Final[dict[str, tuple[Callable[[Any], Any], ...]]] = {
    "alchemy_minedTransactions": (decode_mined,),
    "alchemy_pendingTransactions": (decode_pending,),
    "calls": (decode_calls,),
    "logs": (_filter,),
    "newBlocks": (_block_options,),
    "newHeads": (_header_options,),
    "newPendingTransactions": (decode_flag, _pending_options),
    "state": (decode_state,),
    "syncing": (),
    "transactionReceipts": (_hashes,),
}

register_type(SubscriptionId, _decode_id, IDENTITY)
