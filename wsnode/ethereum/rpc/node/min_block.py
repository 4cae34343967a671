"""wsnode_minBlock: calls of a connection wait until the node has a block that the client has seen."""

from functools import partial
from typing import Any, Final

import msgspec

from wsnode.ethereum.live.block_barrier import BlockBarrier, MinBlock
from wsnode.ethereum.rpc.common.decoding import kind, mismatch
from wsnode.ethereum.rpc.common.schemas import HASH, QUANTITY
from wsnode.ethereum.rpc.middlewares.min_block_wait import BEHIND
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.context import CallContext
from wsnode.jsonrpc.errors import METHOD_NOT_FOUND, RpcError, invalid_request
from wsnode.jsonrpc.method import HandlerKind, Middleware
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import record
from wsnode.jsonrpc.work import Await, Steps

SEEN_BLOCK: Final = {"type": "string", "pattern": "^([0-9]+|0[xX][0-9a-fA-F]+)(:0[xX][0-9a-fA-F]{64})?$"}


class SeenBlock:
    """A block written `NUMBER` or `NUMBER:HASH`."""

    __slots__ = ("demanded",)

    def __init__(self, demanded: MinBlock) -> None:
        self.demanded = demanded


class MinBlockParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[block]`, as `wsnode-block` of an HTTP reply has it, or a quantity."""

    block: SeenBlock


class MinBlockBarrier:
    """Barrier that holds the calls of a connection until the node has a block."""

    def __init__(self, barrier: BlockBarrier, block: MinBlock) -> None:
        self._barrier = barrier
        self._block = block

    def is_over(self) -> bool:
        return self._barrier.has_come(self._block)

    async def wait(self, client: Any) -> None:
        await self._barrier.wait((self._block,), client)


class MinBlockHandler(Middleware):
    """Middleware of wsnode_minBlock: this call and the later ones on its connection wait until the node has
    the given block.
    """

    __slots__ = ("_barrier",)

    def __init__(self, inner: HandlerKind, barrier: BlockBarrier) -> None:
        super().__init__(inner)
        self._barrier = barrier

    def answer(self, turn: CallContext, params: bytes) -> Any:
        """Return the handler's result, or steps that wait first.

        Raises:
            NodeLaggingError: The block is still to come, and there are too many calls in flight.
            RpcError: There is no connection, or it is a call of a batch.
        """
        return self.answer_read(turn, self.parameters.read(params))

    def answer_read(self, turn: CallContext, parameters: Any) -> Any:
        if turn.channel is None:
            raise _not_over_http()
        if turn.is_shared:
            raise invalid_request("wsnode_minBlock is a request of its own, not one of a batch")
        barrier = MinBlockBarrier(self._barrier, parameters.block.demanded)
        if barrier.is_over():
            return self._inner.answer_read(turn, parameters)
        turn.hold_calls(barrier)
        if not turn.may_wait:
            raise self._barrier.behind()
        return self._wait(turn.apart(), barrier, parameters)

    def _wait(self, own: CallContext, barrier: MinBlockBarrier, parameters: Any) -> Steps:
        yield Await(partial(barrier.wait, getattr(own.caller, "client", None)))
        return self._inner.answer_read(own, parameters)


def add_methods(registry: Registry, barrier: BlockBarrier) -> None:
    """Register this module's method."""

    def min_block(_params: MinBlockParameters) -> Any:
        """Return the head once the node has a block; from now on this connection's calls wait for it."""
        return barrier.head.members()

    registry.method(
        "wsnode_minBlock",
        view=False,
        result=record({"number": QUANTITY, "hash": HASH}),
        errors=(BEHIND, _not_over_http()),
    )(min_block)
    method = registry.methods["wsnode_minBlock"]
    registry.methods["wsnode_minBlock"] = method.of_kind(MinBlockHandler(method.kind, barrier))


def _not_over_http() -> RpcError:
    return RpcError(
        METHOD_NOT_FOUND, "wsnode_minBlock needs a WebSocket; over HTTP send the header wsnode-min-block"
    )


def _decode(value: Any) -> SeenBlock:
    if type(value) is not str:
        raise mismatch(kind(value), "string")
    return SeenBlock(BlockBarrier.parse(value))


register_type(SeenBlock, _decode, SEEN_BLOCK)
