"""Blocks below the first block of a forked chain, asked of a node of the other chain."""

from collections.abc import Awaitable, Callable, Generator
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from wsnode.ethereum.not_found import history_unavailable
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.rpc.common.results import NULL
from wsnode.ethereum.snapshot import ForkBackend, Snapshot
from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.work import Await, Step
from wsnode.untrusted.decoding import JsonDecoder, decode_json, decode_quantity
from wsnode.upstream.errors import UpstreamError

T = TypeVar("T")
Asking: TypeAlias = Generator[Step, Any, bytes]
"""Steps that return the JSON text of another node's result."""

_NOTHING: Final = frozenset({NULL, b'"0x"', b"[]", b""})


class _Placed(msgspec.Struct):
    number: str | None = None
    # Traces have a JSON number here.
    block_number: str | int | None = msgspec.field(name="blockNumber", default=None)

    @property
    def block(self) -> int | None:
        """Return the number of the block to which the object belongs, None if no member names it.

        Raises:
            MalformedError: The member is no quantity.
        """
        named = self.number or self.block_number
        return decode_quantity(named) if isinstance(named, str) else named


_PLACED: Final = JsonDecoder[_Placed | None](_Placed | None)
_ALL_PLACED: Final = JsonDecoder[list[_Placed]](list[_Placed])


def is_nothing(result: Any) -> bool:
    """Return True for null, `0x` and an empty list, as JSON text or as values."""
    return result is None or result == [] or (isinstance(result, bytes) and result in _NOTHING)


def below_of(view: Snapshot) -> ForkBackend:
    """Return the chain below the first block.

    Raises:
        RpcError: There is none.
    """
    if view.below is None:
        raise history_unavailable("the chain has no other node's blocks below it")
    return view.below


def ask_below(view: Snapshot, method: str, params: list[Any]) -> Asking:
    """Return the JSON text of another node's result about blocks below the first one.

    Raises:
        RpcError: The other node gives no result.
    """
    below = below_of(view)
    text = yield from await_below(lambda: below.ask(method, params))
    return text.strip()


def await_below(fetch: Callable[[], Awaitable[T]]) -> Generator[Step, Any, T]:
    """Return the result of `fetch`, which asks another node.

    Raises:
        RpcError: The other node gives no answer.
    """
    try:
        fetched: T = yield Await(fetch)
    except UpstreamError as error:
        raise unanswered(error) from error
    return fetched


def unanswered(error: UpstreamError) -> RpcError:
    """Return the error for history below the first block that the other node does not return."""
    return history_unavailable(f"the forked chain's node: {error}")


def withheld(method: str) -> RpcError:
    """Return the error for a part of an existing block that the other chain's node does not return."""
    return unanswered(UpstreamError("invalid", f"{method} has nothing of a block that exists"))


def is_above(text: bytes, first: int) -> bool:
    """Return True if a result is about a block from `first` on, since that block may differ here.

    Raises:
        RpcError: The text is no result.
    """
    try:
        if text.startswith(b"{"):
            placed = _PLACED.decode(text)
            return placed is not None and placed.block is not None and placed.block >= first
        if text.startswith(b"[{"):
            return any((placed.block or 0) >= first for placed in _ALL_PLACED.decode(text))
    except ValueError as error:
        raise unanswered(UpstreamError("invalid", str(error))) from None
    return False


def number_elsewhere(view: Snapshot, method: str, key: bytes) -> Generator[Step, Any, int | None]:
    """Return the number of the other chain's block with the hash `key`, or with the transaction of that hash.

    `method` returns a block or a transaction for the hash. None if the other node does not know the hash, or
    has the transaction in no block.

    Raises:
        RpcError: The other node gives no answer.
    """
    params: list[Any] = [hexadecimal(key)]
    if method == "eth_getBlockByHash":
        params.append(False)
    text = yield from ask_below(view, method, params)
    try:
        placed = _PLACED.decode(text)
        number = None if placed is None else placed.block
    except ValueError as error:
        raise unanswered(UpstreamError("invalid", str(error))) from None
    return number


def count_below(view: Snapshot, counting: str, block: str) -> Generator[Step, Any, int]:
    """Return the number of items in a block below the first one: transactions, or `uncles` by `counting`.

    Raises:
        RpcError: The other node gives no answer.
    """
    by = "ByHash" if len(block) == HASH_TEXT else "ByNumber"
    name = f"eth_getBlockTransactionCount{by}"
    if counting == "uncles":
        name = f"eth_getUncleCountByBlock{by[2:]}"
    text = yield from ask_below(view, name, [block])
    try:
        return decode_quantity(decode_json(text))
    except ValueError as error:
        raise unanswered(UpstreamError("invalid", f"no number of {counting}: {error}")) from None


HASH_TEXT: Final = len("0x") + 64
"""Characters of a hash."""
