"""Methods about blocks below the first one, which another node is asked for."""

from collections.abc import Awaitable, Callable, Generator
from types import GeneratorType
from typing import Any, Final, TypeAlias

import msgspec

from wsnode.ethereum.codes import PRUNED_HISTORY
from wsnode.ethereum.rpc.form.results import NULL
from wsnode.jsonrpc.errors import RESOURCE_UNAVAILABLE, RpcError
from wsnode.jsonrpc.method import Kind, Method, Turn
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import AsyncCall, Rendered, Step
from wsnode.upstream.errors import UpstreamError

Ask: TypeAlias = Callable[[str, list[Any]], Awaitable[bytes]]
"""Calls a method of another node and returns its result's JSON text; raises UpstreamError."""

OF_BLOCKS: Final = (
    *("eth_getBlockByNumber", "eth_getBlockByHash", "eth_getHeaderByNumber", "eth_getHeaderByHash"),
    *("eth_getBlockTransactionCountByNumber", "eth_getUncleCountByBlockNumber"),
    *("eth_getUncleByBlockNumberAndIndex", "eth_getBlockReceipts", "eth_getTransactionByHash"),
    *("eth_getTransactionByBlockHashAndIndex", "eth_getTransactionByBlockNumberAndIndex"),
    *("eth_getTransactionReceipt", "eth_feeHistory", "debug_getRawBlock", "debug_getRawHeader"),
    *("debug_getRawReceipts", "eth_getRawTransactionByBlockNumberAndIndex"),
)
"""Methods whose result is one block's, or null; where a hash chooses it, it names its block."""
LOGS: Final = "eth_getLogs"


class _Placed(msgspec.Struct):
    number: str | None = None
    block_number: str | None = msgspec.field(name="blockNumber", default=None)

    @property
    def block(self) -> int | None:
        """Return the number of the block that it is of."""
        named = self.number or self.block_number
        return None if named is None else int(named, 16)


_PLACED: Final = msgspec.json.Decoder(_Placed)
_ALL_PLACED: Final = msgspec.json.Decoder(list[_Placed])


def is_above(text: bytes, first: int) -> bool:
    """Return whether a result is of a block from `first` on, which here may be another one.

    Raises:
        UpstreamError: It is no result.
    """
    try:
        if text.startswith(b"{"):
            found = _PLACED.decode(text).block
            return found is not None and found >= first
        if text.startswith(b"[{"):
            return any((placed.block or 0) >= first for placed in _ALL_PLACED.decode(text))
    except (msgspec.DecodeError, ValueError) as error:
        raise UpstreamError("invalid", str(error)) from None
    return False


class Elsewhere(Kind):
    """Calls a handler, and asks another node where that finds nothing."""

    __slots__ = ("_ask", "_first", "_inner", "_name")

    def __init__(self, name: str, inner: Kind, first: Callable[[], int], ask: Ask) -> None:
        super().__init__(inner.function, inner.parameters, inner.contracts)
        self._name = name
        self._inner = inner
        self._first = first
        self._ask = ask

    def answer(self, turn: Turn, params: bytes) -> Any:
        """Return the handler's result, or that of the other node."""
        try:
            result = self._inner.answer(turn, params)
        except RpcError as error:
            return self._instead(turn, params, error)
        if isinstance(result, GeneratorType):
            return self._followed(turn, result, params)
        return self._instead(turn, params, None) if result == NULL else result

    def answer_read(self, turn: Turn, parameters: Any) -> Any:
        """Return the handler's result alone: parameters that take long to read name no block's contents."""
        return self._inner.answer_read(turn, parameters)

    def _followed(
        self, turn: Turn, steps: Generator[Step, Any, Any], params: bytes
    ) -> Generator[Step, Any, Any]:
        try:
            return (yield from steps)
        except RpcError as error:
            instead = self._instead(turn, params, error)
        return (yield from instead)

    def _instead(self, turn: Turn, params: bytes, error: RpcError | None) -> Generator[Step, Any, Any]:
        if error is not None and error.code != PRUNED_HISTORY:
            raise error
        return self._asked(turn, msgspec.json.decode(params))

    def _asked(self, _turn: Turn, params: list[Any]) -> Generator[Step, Any, Any]:
        text = yield from self._told(params)
        return NULL if is_above(text, self._first()) else Rendered(text)

    def _told(self, params: list[Any]) -> Generator[Step, Any, bytes]:
        try:
            text: bytes = yield AsyncCall(lambda: self._ask(self._name, params))
        except UpstreamError as error:
            raise unanswered(error) from error
        return text


class LogsElsewhere(Elsewhere):
    """Calls the handler of filters, and has another node search the blocks below the first one."""

    __slots__ = ()

    def _asked(self, turn: Turn, params: list[Any]) -> Generator[Step, Any, Any]:
        wanted = params[0]
        first, last = _number(wanted.get("fromBlock")), _number(wanted.get("toBlock"))
        here = self._first()
        end = here - 1 if last is None else min(last, here - 1)
        below = wanted | {
            "fromBlock": hex(first or 0),
            "toBlock": hex(end),
        }
        found: bytes = yield from self._told([below])
        if is_above(found, here):
            raise unanswered(UpstreamError("invalid", "logs of other blocks"))
        if end == last:
            return Rendered(found)
        own = self._inner.answer(turn, msgspec.json.encode([wanted | {"fromBlock": hex(here)}]))
        if isinstance(own, GeneratorType):
            own = yield from own
        own = own if isinstance(own, bytes) else b"".join(own)
        parts = [part for text in (found, own) if (part := text.strip()[1:-1].strip())]
        return Rendered(b"[" + b",".join(parts) + b"]")


def _number(block: Any) -> int | None:
    return int(block, 16) if isinstance(block, str) and block.startswith("0x") else None


def unanswered(error: UpstreamError) -> RpcError:
    """Return the error for what is below the first block when the other node fails."""
    return RpcError(
        RESOURCE_UNAVAILABLE, f"the forked chain's node failed: {error}", {"reason": error.reason}
    )


def add_elsewhere(registry: Registry, first: Callable[[], int], ask: Ask) -> None:
    """Have another node answer for the blocks below the one that `first` returns."""
    for name in OF_BLOCKS:
        if (method := registry.methods.get(name)) is not None:
            registry.methods[name] = _changed(method, Elsewhere(name, method.kind, first, ask))
    logs = registry.methods[LOGS]
    registry.methods[LOGS] = _changed(logs, LogsElsewhere(LOGS, logs.kind, first, ask))


def _changed(method: Method, kind: Elsewhere) -> Method:
    changed = method.of_kind(kind)
    # What the engine does not find may be elsewhere.
    changed.at_engine = changed.goes_together = False
    return changed
