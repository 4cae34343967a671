"""wsnode_minBlock: calls of a connection wait until the node has a block that the client has seen."""

from typing import Any, Final

import msgspec

from wsnode.ethereum.live.arrivals import Arrivals, Demanded
from wsnode.ethereum.rpc.form.decoding import kind, mismatch
from wsnode.ethereum.rpc.form.named_blocks import BEHIND
from wsnode.ethereum.rpc.form.schemas import HASH, QUANTITY
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import METHOD_NOT_FOUND, RpcError, invalid_request
from wsnode.jsonrpc.method import Kind, Turn
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import record

SEEN_BLOCK: Final = {"type": "string", "pattern": "^([0-9]+|0[xX][0-9a-fA-F]+)(:0[xX][0-9a-fA-F]{64})?$"}


class SeenBlock:
    """A block written `NUMBER` or `NUMBER:HASH`."""

    __slots__ = ("demanded",)

    def __init__(self, demanded: Demanded) -> None:
        self.demanded = demanded


class MinBlockParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[block]`, as `wsnode-block` of an HTTP reply has it, or a quantity."""

    block: SeenBlock


class Demanding(Kind):
    """Has the further calls of a connection wait for a block, and this one first."""

    __slots__ = ("_arrivals", "_inner")

    def __init__(self, inner: Kind, arrivals: Arrivals) -> None:
        super().__init__(inner.function, inner.parameters, inner.contracts)
        self._inner = inner
        self._arrivals = arrivals

    def run(self, turn: Turn, *parameters: Any) -> Any:
        """Return the handler's result.

        Raises:
            BehindError: The block is still to come; the call waits for it.
            RpcError: There is no connection, or it is a call of a batch.
        """
        if turn.channel is None:
            raise _not_over_http()
        if not turn.may_move:
            raise invalid_request("wsnode_minBlock is a request of its own, not one of a batch")
        block = parameters[0].block.demanded
        if turn.waits and not self._arrivals.has_come(block):
            turn.demand(block)
            raise self._arrivals.behind(block)
        return self._inner.run(turn, *parameters)


def add_methods(registry: Registry, arrivals: Arrivals) -> None:
    """Register this module's method."""

    def min_block(_params: MinBlockParameters) -> Any:
        """Return the head once the node has a block; from now on this connection's calls wait for it."""
        return arrivals.head.members()

    registry.method(
        "wsnode_minBlock",
        view=False,
        result=record({"number": QUANTITY, "hash": HASH}),
        errors=(BEHIND, _not_over_http()),
    )(min_block)
    method = registry.methods["wsnode_minBlock"]
    registry.methods["wsnode_minBlock"] = method.of_kind(Demanding(method.kind, arrivals))


def _not_over_http() -> RpcError:
    return RpcError(METHOD_NOT_FOUND, "wsnode_minBlock is of WebSocket connections, HTTP has a header for it")


def _decode(value: Any) -> SeenBlock:
    if type(value) is not str:
        raise mismatch(kind(value), "string")
    return SeenBlock(Arrivals.parse(value))


register_type(SeenBlock, _decode, SEEN_BLOCK)
