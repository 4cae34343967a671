"""Methods about blocks below the first one, for which another node is asked."""

from collections.abc import Callable, Generator, Iterator
from types import GeneratorType
from typing import Any, Final

import msgspec

from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.rpc.common.below_fork import (
    ask_below,
    count_below,
    is_above,
    is_nothing,
    number_elsewhere,
    unanswered,
    withheld,
)
from wsnode.ethereum.rpc.common.lookup import tagged
from wsnode.ethereum.rpc.common.parameters import (
    PENDING,
    BlockHash,
    BlockParameter,
    NumberOrTag,
    decode_block_number,
)
from wsnode.ethereum.rpc.common.results import NULL
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.codec import UNREADABLE
from wsnode.jsonrpc.context import CallContext
from wsnode.jsonrpc.errors import INVALID_PARAMS, INVALID_REQUEST, RpcError, server_error
from wsnode.jsonrpc.method import HandlerKind, Middleware
from wsnode.jsonrpc.work import JsonText, RenderedJson, Step
from wsnode.untrusted.decoding import JsonDecoder, MalformedError
from wsnode.upstream.errors import UpstreamError

OF_BLOCKS: Final = (
    *("eth_getBlockByNumber", "eth_getBlockByHash", "eth_getHeaderByNumber", "eth_getHeaderByHash"),
    *("eth_getBlockTransactionCountByNumber", "eth_getBlockTransactionCountByHash"),
    *("eth_getUncleCountByBlockNumber", "eth_getUncleCountByBlockHash"),
    *("eth_getUncleByBlockNumberAndIndex", "eth_getUncleByBlockHashAndIndex"),
    *("eth_getTransactionByBlockNumberAndIndex", "eth_getTransactionByBlockHashAndIndex"),
    *("eth_getRawTransactionByBlockNumberAndIndex", "eth_getRawTransactionByBlockHashAndIndex"),
    *("eth_getBlockReceipts", "eth_getBlockAccessList", "debug_getRawBlock", "debug_getRawHeader"),
    "debug_getRawBlockAccessList",
    *("debug_getRawReceipts", "debug_traceBlockByNumber", "debug_traceBlockByHash", "trace_block"),
    *("trace_replayBlockTransactions", "ots_getBlockDetails", "ots_getBlockDetailsByHash"),
    *("ots_getBlockTransactions", "erigon_getHeaderByNumber"),
)
"""Methods with a result about the block given by a number, a tag or a hash."""
OF_TRANSACTIONS: Final = (
    *("eth_getTransactionByHash", "eth_getTransactionReceipt", "eth_getRawTransactionByHash"),
    *("debug_getRawTransaction", "debug_traceTransaction", "trace_transaction", "trace_get"),
    *("trace_replayTransaction", "ots_getInternalOperations", "ots_getTransactionError"),
    "ots_traceTransaction",
)
"""Methods with a result about the transaction given by a hash."""
TRACES: Final = "trace_filter"
EMPTY: Final = {
    "trace_get": NULL,
    "ots_getInternalOperations": b"[]",
    "ots_getTransactionError": b'"0x"',
}
"""Results for transactions that exist but have no traces of a kind."""
UNTRACEABLE: Final = frozenset({"debug_traceBlockByNumber", "debug_traceBlockByHash"})
"""Methods that refuse the genesis block."""
BY_HASH_TOO: Final = {"debug_traceBlockByNumber": "debug_traceBlockByHash"}
"""Methods for a number or a tag only, each with its counterpart for a block's hash."""
INDEXED: Final = "AndIndex"
LISTS: Final = frozenset(
    {
        *("eth_getBlockReceipts", "debug_getRawReceipts", "trace_block", "trace_replayBlockTransactions"),
        *("debug_traceBlockByNumber", "debug_traceBlockByHash"),
    }
)
"""Methods whose list is empty where the block has no transactions."""


def is_traced(name: str) -> bool:
    """Return True for a method whose result comes from the execution of its block."""
    return "trace" in name or name in EMPTY


class UpstreamFallback(Middleware):
    """Middleware of a forked chain that forwards calls about blocks below its first one to the other chain's
    node.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str, inner: HandlerKind) -> None:
        super().__init__(inner)
        self._name = name

    def calling(self, function: Callable[..., Any]) -> HandlerKind:
        """Return the kind with another handler; calls answered by the other node do not reach it."""
        return type(self)(self._name, self._inner.calling(function))

    def answer(self, turn: CallContext, params: bytes) -> Any:
        """Return the handler's result; steps that ask the other node if a named block is below the first one
        here.
        """
        # The engine takes the tag for the first block here.
        params = params.replace(b'"earliest"', b'"0x0"')
        failure: RpcError | None = None
        try:
            result = self._inner.answer(turn, params)
        except RpcError as error:
            if error.code in (INVALID_PARAMS, INVALID_REQUEST):
                # The call is wrong, or its caller may not make it.
                raise
            result, failure = None, error
        view = turn.view if turn.scope is not None else turn.open()
        steps = self._elsewhere(view, params, result, failure)
        if steps is not None:
            return steps
        if failure is not None:
            raise failure
        return result

    def _elsewhere(
        self, view: Snapshot, params: bytes, result: Any, failure: RpcError | None
    ) -> Generator[Step, Any, Any] | None:
        """Return steps that ask the other node, None if all named blocks are here."""
        raise NotImplementedError

    def _end(self, view: Snapshot) -> int:
        """Return the number of the first block that the other node is not asked about.

        A trace needs the state before its block, so the first block here is traced there.
        """
        return view.earliest + is_traced(self._name)

    def _read(self, params: bytes) -> Any:
        try:
            return self.parameters.read(params)
        except (RpcError, *UNREADABLE):
            # The handler has said what is wrong.
            return None


def closed(result: Any) -> None:
    """Close the steps of a result that the other node's result replaces."""
    if isinstance(result, GeneratorType):
        result.close()


def kept(result: Any, failure: RpcError | None) -> Generator[Step, Any, Any]:
    """Return the handler's result, or raise its failure, since the other node is not needed."""
    if failure is not None:
        raise failure
    return (yield from _steps(result))


class BlockFallback(UpstreamFallback):
    """Middleware that forwards calls about blocks below a fork's first one, named by number, tag or hash, to
    the other chain's node.
    """

    __slots__ = ()

    def _elsewhere(
        self, view: Snapshot, params: bytes, result: Any, failure: RpcError | None
    ) -> Generator[Step, Any, Any] | None:
        for number, block_hash in named(view, self._read(params)):
            if number is not None and number < self._end(view):
                closed(result)
                return self._of_number(view, params, number)
            if block_hash is not None and view.block_rows(block_hash) is None:
                return self._of_hash(view, params, block_hash, result, failure)
        return None

    def _of_hash(
        self, view: Snapshot, params: bytes, block_hash: bytes, result: Any, failure: RpcError | None
    ) -> Generator[Step, Any, Any]:
        number = yield from number_elsewhere(view, "eth_getBlockByHash", block_hash)
        if number is None or number >= self._end(view):
            return (yield from kept(result, failure))
        closed(result)
        return (yield from self._of_number(view, params, number, hexadecimal(block_hash)))

    def _of_number(
        self, view: Snapshot, params: bytes, number: int, block: str = ""
    ) -> Generator[Step, Any, Any]:
        """Return the other node's result for a block that exists, named by its hash in `block`, if any."""
        if not number and self._name in UNTRACEABLE:
            raise server_error("genesis is not traceable")
        given = msgspec.json.decode(params)
        if view.hash_of(number) is not None:
            # The first block stored here is named by its hash, because its tag or number may name another
            # block on the other node.
            given[0] = block = hexadecimal(view.hash_of(number) or b"")
        name = BY_HASH_TOO.get(self._name, self._name) if block else self._name
        text = yield from ask_below(view, name, given)
        if is_above(text, self._end(view)):
            raise unanswered(UpstreamError("invalid", f"{self._name} returned another block"))
        if is_nothing(text):
            return (yield from self._nothing(view, params, block or hex(number), text))
        return RenderedJson(text)

    def _nothing(
        self, view: Snapshot, params: bytes, block: str, text: bytes
    ) -> Generator[Step, Any, JsonText]:
        """Return the result for a block that has nothing at an index, or no transactions.

        Raises:
            RpcError: It has, or the other node does not say.
        """
        if INDEXED in self._name:
            counting = "uncles" if "Uncle" in self._name else "transactions"
            count = yield from count_below(view, counting, block)
            if count <= int(msgspec.json.decode(params)[1], 16):
                return b'"0x"' if "Raw" in self._name else NULL
        elif self._name in LISTS and text == b"[]":
            count = yield from count_below(view, "transactions", block)
            if not count:
                return text
        raise withheld(self._name)


def named(view: Snapshot, value: Any) -> Iterator[tuple[int | None, bytes | None]]:
    """Yield the numbers and hashes of the blocks that parameters name, by tags too."""
    if isinstance(value, NumberOrTag):
        if value != PENDING:
            yield (value if value >= 0 else tagged(view, value)), None
    elif isinstance(value, BlockHash):
        yield view.number_of(value), value
    elif isinstance(value, BlockParameter):
        yield from () if value.number is None else named(view, value.number)
        if value.hash is not None:
            yield view.number_of(value.hash), value.hash
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from named(view, getattr(value, name))


class TransactionFallback(UpstreamFallback):
    """Middleware that forwards calls about a transaction below a fork's first block, named by hash, to the
    other chain's node.
    """

    __slots__ = ()

    def _elsewhere(
        self, view: Snapshot, params: bytes, result: Any, failure: RpcError | None
    ) -> Generator[Step, Any, Any] | None:
        is_to_come = isinstance(result, GeneratorType)
        if not (failure is not None or is_to_come or is_nothing(result)):
            return None
        parameters = self._read(params)
        if parameters is None:
            return None
        place = view.transaction(parameters.hash)
        if place is not None and place[0] >= self._end(view):
            return None
        return self._of(view, params, parameters.hash, result, failure)

    def _of(
        self, view: Snapshot, params: bytes, key: bytes, result: Any, failure: RpcError | None
    ) -> Generator[Step, Any, Any]:
        number = yield from number_elsewhere(view, "eth_getTransactionByHash", key)
        if number is None or number >= self._end(view):
            return (yield from kept(result, failure))
        closed(result)
        return (yield from self._of_number(view, params, key, number))

    def _of_number(
        self, view: Snapshot, params: bytes, _key: bytes, _number: int
    ) -> Generator[Step, Any, Any]:
        """Return the other node's result for a transaction that it has in the block with a number."""
        text = yield from ask_below(view, self._name, msgspec.json.decode(params))
        if is_nothing(text) and text != EMPTY.get(self._name):
            raise withheld(self._name)
        if is_above(text, self._end(view)):
            raise unanswered(UpstreamError("invalid", f"{self._name} returned another block"))
        return RenderedJson(text)


class RangeFallback(UpstreamFallback):
    """Middleware for trace_filter over a range that begins below a fork's first block: the other chain's node
    searches that part, and the results are joined.
    """

    __slots__ = ()

    def answer(self, turn: CallContext, params: bytes) -> Any:
        """Return the handler's result for a range that is stored here; else steps that join it with the other
        node's.
        """
        params = params.replace(b'"earliest"', b'"0x0"')
        view = turn.view if turn.scope is not None else turn.open()
        wanted = self._wanted(params)
        first = None if wanted is None else _bound(view, wanted.get("fromBlock"))
        if wanted is None or first is None or first >= self._end(view):
            return self._inner.answer(turn, params)
        last = _bound(view, wanted.get("toBlock", "latest"))
        if last is None or last < first or last > view.number:
            return self._inner.answer(turn, params)
        # The handler is also called for a range that ends below this chain, because it checks the other
        # parameters and the caller's rights.
        here = min(self._end(view), view.number)
        bounds = {"fromBlock": hex(here), "toBlock": hex(max(last, here))}
        own = self._inner.answer(turn, msgspec.json.encode([_whole(wanted) | bounds]))
        return self._joined(view, wanted | {"fromBlock": hex(first)}, last, own)

    def _wanted(self, params: bytes) -> dict[str, Any] | None:
        parameters = self._read(params)
        if parameters is None:
            return None
        wanted: dict[str, Any] = {
            _MEMBERS.get(name.lower(), name): value
            for name, value in msgspec.json.decode(params)[0].items()
            if value is not None
        }
        return {"fromBlock": "0x0"} | wanted

    def _joined(
        self, view: Snapshot, wanted: dict[str, Any], last: int, own: Any
    ) -> Generator[Step, Any, Any]:
        end = self._end(view) - 1
        if last <= end:
            closed(own)
            return RenderedJson((yield from self._ask_upstream(view, wanted | {"toBlock": hex(last)})))
        found = yield from self._ask_upstream(view, _whole(wanted) | {"toBlock": hex(end)})
        rest = yield from _steps(own)
        rest = rest if isinstance(rest, bytes) else b"".join(rest)
        if wanted.keys() & PAGE:
            return _page([*_items(found), *_items(rest)], wanted)
        parts = [part for text in (found, rest) if (part := text.strip()[1:-1].strip())]
        return RenderedJson(b"[" + b",".join(parts) + b"]")

    def _ask_upstream(self, view: Snapshot, wanted: dict[str, Any]) -> Generator[Step, Any, JsonText]:
        found = yield from ask_below(view, self._name, [wanted])
        if not found.startswith(b"[") or is_above(found, self._end(view)):
            raise unanswered(UpstreamError("invalid", f"{self._name} of other blocks"))
        return found


_MEMBERS: Final = {name.lower(): name for name in ("fromBlock", "toBlock")}


def _steps(result: Any) -> Generator[Step, Any, Any]:
    return (yield from result) if isinstance(result, GeneratorType) else result


def _bound(view: Snapshot, block: Any) -> int | None:
    """Return the number of a block that a bound of a range names, None for none and for `pending`."""
    if not isinstance(block, str):
        return None
    number = decode_block_number(block)
    return number if number >= 0 else None if number == PENDING else tagged(view, number)


PAGE: Final = frozenset({"after", "count"})


def _whole(wanted: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in wanted.items() if name not in PAGE}


_ITEMS: Final = JsonDecoder[list[msgspec.Raw]](list[msgspec.Raw])
_HISTORY: Final = JsonDecoder[dict[str, Any]](dict[str, Any])


def _items(text: bytes) -> list[msgspec.Raw]:
    try:
        return _ITEMS.decode(text)
    except MalformedError as error:
        raise unanswered(UpstreamError("invalid", f"no list: {error}")) from None


def _page(found: list[msgspec.Raw], wanted: dict[str, Any]) -> RenderedJson:
    after, count = wanted.get("after") or 0, wanted.get("count")
    return RenderedJson(msgspec.json.encode(found[after : None if count is None else after + count]))


class FeeHistoryFallback(UpstreamFallback):
    """Middleware that gets the fee history of blocks below a fork's first one from the other chain's node."""

    __slots__ = ()

    def _elsewhere(
        self, view: Snapshot, params: bytes, result: Any, failure: RpcError | None
    ) -> Generator[Step, Any, Any] | None:
        parameters = self._read(params)
        if parameters is None or not parameters.count:
            return None
        newest = parameters.newest
        if 0 <= newest < view.earliest:
            closed(result)
            return self._below(view, msgspec.json.decode(params))
        if failure is not None or not isinstance(result, GeneratorType):
            return None
        return self._joined(view, msgspec.json.decode(params), min(parameters.count, MAX_BLOCKS), result)

    def _below(self, view: Snapshot, params: list[Any]) -> Generator[Step, Any, Any]:
        text = yield from ask_below(view, self._name, params)
        if is_nothing(text):
            raise withheld(self._name)
        return RenderedJson(text)

    def _joined(
        self, view: Snapshot, params: list[Any], count: int, own: Generator[Step, Any, Any]
    ) -> Generator[Step, Any, Any]:
        history = yield from own
        missing = count - len(history["gasUsedRatio"])
        if missing <= 0 or not view.earliest or int(history["oldestBlock"], 16) > view.earliest:
            return history
        asked = [hex(missing), hex(view.earliest - 1), *params[2:]]
        text = yield from self._below(view, asked)
        try:
            below = _HISTORY.decode(text)
            return _joined_history(below, history)
        except (MalformedError, KeyError, TypeError) as error:
            raise unanswered(UpstreamError("invalid", f"no fee history: {error}")) from None


MAX_BLOCKS: Final = 1024


def _joined_history(below: dict[str, Any], history: dict[str, Any]) -> dict[str, Any]:
    count = len(below["gasUsedRatio"])
    joined = {"oldestBlock": below["oldestBlock"]}
    for name in history:
        if name != "oldestBlock":
            # The last base fee in `below` belongs to the first block stored here, so `history` has it as
            # well.
            joined[name] = [*below[name][:count], *history[name]]
    return joined
