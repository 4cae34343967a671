"""Search for the block below the first one in which an account changed, by unverified answers of the other
node.
"""

from collections.abc import Callable, Generator
from types import GeneratorType
from typing import Any, Final

import msgspec

from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.rpc.common.below_fork import ask_below, unanswered, withheld
from wsnode.ethereum.rpc.common.errors import PRUNED
from wsnode.ethereum.rpc.common.results import NULL
from wsnode.ethereum.rpc.historical.executions import answered_by, block_name, executed
from wsnode.ethereum.rpc.middlewares.upstream_fallback import UpstreamFallback, kept
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.work import RenderedJson, Step
from wsnode.untrusted.decoding import JsonDecoder, decode_json, decode_quantity
from wsnode.upstream.errors import UpstreamError

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
    """Middleware that searches below the first block for an event of an account not found by the handler."""

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
    """Return the block up to the first one here since which `holds` is true of a method's result.

    It is true of the first block here. The method has an account's address and a block for parameters; it is
    asked once for each halving of the blocks.

    Raises:
        RpcError: The other node does not say.
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
    """Middleware that asks the other node for a transaction below the first block by its sender and nonce.

    The result is null if the nonce was used without a transaction.
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
    """Middleware for the transaction that created a contract; it executes the block of the transaction."""

    __slots__ = ()

    def _below(self, view: Snapshot, params: bytes) -> Generator[Step, Any, Any]:
        address = self._read(params).address
        first = view.earliest, view.hash_of(view.earliest) or b""
        code = hexadecimal(view.state.code(address, first))
        number = yield from first_block(view, "eth_getCode", address, lambda told: told == code)
        if not number:
            # It is a contract of the genesis.
            return NULL
        past = yield from executed(view, block_name(view, number))
        if past is None:
            return RenderedJson((yield from ask_below(view, self._name, [hexadecimal(address)])))
        return (yield from answered_by(past, view.caller, (self._name, self._inner), params))
