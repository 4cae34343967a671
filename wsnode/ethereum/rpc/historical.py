"""States and executions below the first block: by proofs of the other chain's states, not by its word."""

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from types import GeneratorType
from typing import Any, Final

import msgspec

from wsnode.ethereum.not_found import history_unavailable
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.rpc.common.below_fork import ask_below, below_of, number_elsewhere, unanswered, withheld
from wsnode.ethereum.rpc.common.results import NULL, PRUNED
from wsnode.ethereum.rpc.middlewares.state_fetching import fetching
from wsnode.ethereum.rpc.middlewares.upstream_fallback import (
    OF_BLOCKS,
    OF_TRANSACTIONS,
    TRACES,
    BlockFallback,
    FeeHistoryFallback,
    RangeFallback,
    TransactionFallback,
    UpstreamFallback,
    closed,
    is_traced,
    kept,
    named,
)
from wsnode.ethereum.snapshot import BlockName, CallerContext, HistoricalChain, Snapshot
from wsnode.jsonrpc.context import CallContext
from wsnode.jsonrpc.errors import RESOURCE_UNAVAILABLE, RpcError
from wsnode.jsonrpc.generators import begun
from wsnode.jsonrpc.method import HandlerKind, Method
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import Await, RenderedJson, Step
from wsnode.untrusted.decoding import JsonDecoder, decode_json, decode_quantity
from wsnode.upstream.errors import UpstreamError


class HistoricalTurn(CallContext):
    """Context of one call repeated on a chain that ends with an earlier block; its view stays open at the end
    of the call.
    """

    __slots__ = ()

    is_shared = True

    def __init__(self, view: Snapshot) -> None:
        super().__init__(lambda _caller: view, view.caller, None, 0)
        self.scope = self.view = view

    @property
    def may_wait(self) -> bool:
        return False

    def apart(self) -> "HistoricalTurn":
        return self

    def beside(self) -> "HistoricalTurn":
        return HistoricalTurn(self.view)

    def end_turn(self) -> None:
        """Do nothing: `answered_by` closes the view."""


def answered_by(
    past: HistoricalChain, caller: CallerContext, method: tuple[str, HandlerKind], params: bytes
) -> Generator[Step, Any, Any]:
    """Return the result of a method, given by its name and its handler, that reads from a past chain.

    Raises:
        RpcError: The handler fails, or the state is not proved.
    """
    name, kind = method
    with past.snapshot(caller) as view:
        turn = HistoricalTurn(view)
        answer = partial(kind.answer, turn, params)
        session = past.fetchers.begin(name, params, view)
        try:
            return (yield from fetching(begun(answer), answer, session, turn, may_move=False))
        except RpcError as error:
            if error.code == RESOURCE_UNAVAILABLE:
                raise history_unavailable(error.message) from None
            raise


def executed(view: Snapshot, block: BlockName) -> Generator[Step, Any, HistoricalChain | None]:
    """Return a chain on which a block has been executed, None where proofs do not reach so far."""
    below = below_of(view)
    try:
        past: HistoricalChain = yield Await(lambda: below.executed(block))
    except RpcError:
        return None
    return past


def block_name(view: Snapshot, number: int) -> BlockName:
    """Return the hash of a block that is stored here, the number of any other, to name it to the other
    node.
    """
    own = view.hash_of(number)
    return number if own is None else own


FULL: Final = "eth_getTransactionBySenderAndNonce"
BY_NONCE: Final = (FULL, "ots_getTransactionBySenderAndNonce")
"""Methods whose result is of the transaction with a sender and a nonce."""
OF_CREATOR: Final = "ots_getContractCreator"


class _Sent(msgspec.Struct):
    sender: str = msgspec.field(name="from")
    nonce: str
    hash: str


class _Block(msgspec.Struct):
    transactions: list[msgspec.Raw]


_SENT: Final = JsonDecoder(_Sent)
_BLOCK: Final = JsonDecoder(_Block)


class FirstBlockFallback(UpstreamFallback):
    """Middleware that finds an account's event below a fork's first block, by searching the other chain's
    blocks, if the handler finds none here.
    """

    __slots__ = ()

    def _elsewhere(
        self, view: Snapshot, params: bytes, result: Any, failure: RpcError | None
    ) -> Generator[Step, Any, Any] | None:
        is_settled = failure is None and not isinstance(result, GeneratorType)
        return None if is_settled else self._here_or_below(view, params, result, failure)

    def _here_or_below(
        self, view: Snapshot, params: bytes, result: Any, failure: RpcError | None
    ) -> Generator[Step, Any, Any]:
        try:
            return (yield from kept(result, failure))
        except RpcError as error:
            if error.code != PRUNED.code:
                raise
        return (yield from self._below(view, params))

    def _below(self, view: Snapshot, params: bytes) -> Generator[Step, Any, Any]:
        """Return the result for an event up to the first block."""
        raise NotImplementedError


def first_block(
    view: Snapshot, method: str, address: bytes, holds: Callable[[Any], bool]
) -> Generator[Step, Any, int]:
    """Return the lowest block from which on `holds` is true of a method's results about an account.

    It is true at the first block here. The method takes the account's address and a block; it is asked once
    for each halving of the range.

    Raises:
        RpcError: The other node gives no answer.
    """
    before, after = -1, int(view.earliest)
    while after - before > 1:
        middle = (before + after) // 2
        text = yield from ask_below(view, method, [hexadecimal(address), hex(middle)])
        try:
            is_so = holds(decode_json(text))
        except (ValueError, TypeError) as error:
            raise unanswered(UpstreamError("invalid", f"{method}: {error}")) from None
        before, after = (before, middle) if is_so else (middle, after)
    return after


class SenderNonceFallback(FirstBlockFallback):
    """Middleware that requests a transaction below a fork's first block, given by sender and nonce, from the
    other chain's node. The result is null if the nonce was used without a transaction.
    """

    __slots__ = ()

    def _below(self, view: Snapshot, params: bytes) -> Generator[Step, Any, Any]:
        wanted = self._read(params)
        sender, nonce = wanted.sender, wanted.nonce
        number = yield from first_block(
            view, "eth_getTransactionCount", sender, lambda told: decode_quantity(told) > nonce
        )
        own = view.hash_of(number)
        method, name = ("Number", hex(number)) if own is None else ("Hash", hexadecimal(own))
        text = yield from ask_below(view, f"eth_getBlockBy{method}", [name, True])
        try:
            found = [(_SENT.decode(each), bytes(each)) for each in _BLOCK.decode(text).transactions]
            by_sender = {
                (each.sender.lower(), decode_quantity(each.nonce)): (each.hash, raw) for each, raw in found
            }
        except ValueError:
            raise withheld(f"eth_getBlockBy{method}") from None
        sent = by_sender.get((hexadecimal(sender), nonce))
        if sent is None:
            # The nonce was used by an authorization, or set without a transaction.
            return NULL
        return RenderedJson(sent[1]) if self._name == FULL else sent[0]


class CreatorFallback(FirstBlockFallback):
    """Middleware for the transaction below a fork's first block that created a contract; it finds and
    executes the transaction's block.
    """

    __slots__ = ()

    def _below(self, view: Snapshot, params: bytes) -> Generator[Step, Any, Any]:
        address = self._read(params).address
        first = view.earliest, view.hash_of(view.earliest) or b""
        code = hexadecimal(view.state.code(address, first))
        number = yield from first_block(view, "eth_getCode", address, lambda told: told == code)
        if not number:
            # The genesis block already has the contract, so no transaction created it.
            return NULL
        past = yield from executed(view, block_name(view, number))
        if past is None:
            return RenderedJson((yield from ask_below(view, self._name, [hexadecimal(address)])))
        return (yield from answered_by(past, view.caller, (self._name, self._inner), params))


STATES: Final = (
    *("eth_getBalance", "eth_getTransactionCount", "eth_getCode", "eth_getStorageAt", "eth_getProof"),
    *("eth_getAccount", "eth_getAccountInfo", "eth_getStorageValues", "eth_call", "eth_estimateGas"),
    *("eth_createAccessList", "eth_simulateV1", "debug_traceCall", "debug_storageRangeAt", "trace_call"),
    *("trace_callMany", "trace_rawTransaction", "ots_hasCode"),
    *("debug_getModifiedAccountsByHash", "debug_getModifiedAccountsByNumber", "debug_executionWitness"),
)
"""Methods that read the state after a block given in their parameters."""
LISTING: Final = frozenset(
    {
        *("debug_storageRangeAt", "debug_getModifiedAccountsByHash", "debug_getModifiedAccountsByNumber"),
        "debug_executionWitness",
    }
)
"""Methods that list values of a state: a proof is of a named value, so nothing proves their results."""


class HistoricalStateFallback(UpstreamFallback):
    """Middleware for calls on the state after a block below a fork's first one: it runs them on a chain that
    ends with this block.
    """

    __slots__ = ()

    def _elsewhere(
        self, view: Snapshot, params: bytes, result: Any, failure: RpcError | None
    ) -> Generator[Step, Any, Any] | None:
        if failure is None and not isinstance(result, GeneratorType):
            return None
        for number, block_hash in named(view, self._read(params)):
            if number is not None and number < view.earliest:
                closed(result)
                return self._after(view, params, number)
            if block_hash is not None and view.block_rows(block_hash) is None:
                return self._of_hash(view, params, block_hash, result, failure)
        return None

    def _of_hash(
        self, view: Snapshot, params: bytes, block_hash: bytes, result: Any, failure: RpcError | None
    ) -> Generator[Step, Any, Any]:
        number = yield from number_elsewhere(view, "eth_getBlockByHash", block_hash)
        if number is None or number >= view.earliest:
            return (yield from kept(result, failure))
        closed(result)
        return (yield from self._after(view, params, block_hash))

    def _after(self, view: Snapshot, params: bytes, block: BlockName) -> Generator[Step, Any, Any]:
        if self._name in LISTING:
            raise history_unavailable("proofs do not list the values of a state below the fork")
        below = below_of(view)
        past = yield Await(lambda: below.begun_at(block))
        return (yield from answered_by(past, view.caller, (self._name, self._inner), params))


class BlockTraceFallback(BlockFallback):
    """Middleware that traces blocks below a fork's first one, by executing them, or else by a request to the
    other chain's node.
    """

    __slots__ = ()

    def _of_number(
        self, view: Snapshot, params: bytes, number: int, block: str = ""
    ) -> Generator[Step, Any, Any]:
        name = bytes.fromhex(block[2:]) if block else block_name(view, number)
        past = (yield from executed(view, name)) if number else None
        if past is None:
            return (yield from super()._of_number(view, params, number, block))
        return (yield from answered_by(past, view.caller, (self._name, self._inner), params))


class TransactionTraceFallback(TransactionFallback):
    """Middleware that traces transactions below a fork's first block, by executing their blocks, or else by a
    request to the other chain's node.
    """

    __slots__ = ()

    def _of_number(self, view: Snapshot, params: bytes, key: bytes, number: int) -> Generator[Step, Any, Any]:
        past = yield from executed(view, block_name(view, number))
        if past is None or not _has(past, view.caller, key):
            return (yield from super()._of_number(view, params, key, number))
        return (yield from answered_by(past, view.caller, (self._name, self._inner), params))


def _has(past: HistoricalChain, caller: CallerContext, key: bytes) -> bool:
    with past.snapshot(caller) as view:
        return view.transaction(key) is not None


def add_elsewhere(registry: Registry) -> None:
    """Make methods answer for blocks below the first one, with results of another node."""
    for kind, names in _kinds():
        for name in names:
            if (method := registry.methods.get(name)) is not None:
                registry.methods[name] = _changed(method, kind)


def _kinds() -> Iterator[tuple[type[UpstreamFallback], Sequence[str]]]:
    yield BlockFallback, [name for name in OF_BLOCKS if not is_traced(name)]
    yield BlockTraceFallback, [name for name in OF_BLOCKS if is_traced(name)]
    yield TransactionFallback, [name for name in OF_TRANSACTIONS if not is_traced(name)]
    yield TransactionTraceFallback, [name for name in OF_TRANSACTIONS if is_traced(name)]
    yield RangeFallback, (TRACES,)
    yield FeeHistoryFallback, ("eth_feeHistory",)
    yield HistoricalStateFallback, STATES
    yield SenderNonceFallback, BY_NONCE
    yield CreatorFallback, (OF_CREATOR,)


def _changed(method: Method, kind: type[UpstreamFallback]) -> Method:
    is_named = any(error.code == PRUNED.code for error in method.errors)
    changed = method.failing([] if is_named else [PRUNED]).of_kind(
        kind(method.name, method.kind), kind(method.name, method.quick_kind)
    )
    if kind is HistoricalStateFallback:
        # The engine passes a call for a state that it does not find on to the handler.
        return changed
    # The engine would answer for a block or transaction that it does not find, but the other node may have
    # it.
    return changed.handled_alone()
