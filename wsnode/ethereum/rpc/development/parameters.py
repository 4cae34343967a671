"""Parameters of the methods of development chains: numbers in any form, options, placed transactions."""

from contextlib import suppress
from typing import Any

from wsnode.ethereum.development.control import ForkRequest
from wsnode.ethereum.rpc.calls.call_object import CallObject, check_accesses, decode_call_object
from wsnode.ethereum.rpc.common.decoding import decode_array, decode_bytes, kind, mismatch
from wsnode.ethereum.rpc.development.schemas import (
    HEX,
    MAX_PLACED,
    MINE_OPTIONS,
    NUMBER,
    PLACED,
    REORGANISATION,
    RESET_OPTIONS,
)
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.schema import list_of
from wsnode.jsonrpc.session_limits import check_count


class LenientNumber(int):
    """A number below 2**256: a JSON number, or digits in a string, decimal or after `0x`."""


class LenientCount(int):
    """A number below 2**64 (blocks, seconds, a nonce), in the forms of `LenientNumber`."""


class LenientBytes(bytes):
    """Bytes as hex, with the prefix or without."""


class MineOptions:
    """Timestamp of the next block in seconds, or an object with `timestamp` and `blocks`, the number of
    blocks to mine.
    """

    __slots__ = ("blocks", "timestamp")

    def __init__(self, timestamp: int | None = None, blocks: int = 1) -> None:
        self.timestamp = timestamp
        self.blocks = blocks


class ResetOptions:
    """Options of a reset: an object with `jsonRpcUrl` and `blockNumber` of the chain to fork, also within a
    member `forking`; without them the chain returns to its first block.
    """

    __slots__ = ("forking",)

    def __init__(self, forking: ForkRequest | None = None) -> None:
        self.forking = forking


class PlacedTransaction:
    """Transaction of a new branch: signed bytes as hex, or an object; alone for the branch's first block, or
    in an array with the index of its block.
    """

    __slots__ = ("block", "call", "encoded")

    def __init__(self, encoded: bytes | None, call: CallObject | None, block: int) -> None:
        self.encoded = encoded
        self.call = call
        self.block = block


class PlacedTransactions(tuple[PlacedTransaction, ...]):
    """Transactions of a new branch."""

    __slots__ = ()


class ReorganisationObject:
    """Object of a reorganisation: `depth`, the number of blocks to replace, and `transactions` of the new
    blocks.
    """

    __slots__ = ("depth", "transactions")

    def __init__(self, depth: int, transactions: PlacedTransactions) -> None:
        self.depth = depth
        self.transactions = transactions


def decode_number(value: Any, bits: int = 64) -> int:
    """Return the integer below 2**`bits` in `value`: a number, decimal digits, or hexadecimal digits after
    0x.

    Raises:
        ValueError: The value is no such number.
    """
    number = -1
    if type(value) is int:
        number = value
    elif type(value) is str and value.isascii() and value.isalnum():
        digits, base = (value[2:], 16) if value[:2] in {"0x", "0X"} else (value, 10)
        with suppress(ValueError):
            number = int(digits, base)
    if not 0 <= number < 1 << bits:
        raise ValueError(f"expected a number below 2**{bits}, or its digits in a string")
    return number


def _decode_bytes(value: Any) -> bytes:
    has_prefix = type(value) is not str or value[:2] in {"0x", "0X"}
    return decode_bytes(value if has_prefix else f"0x{value}")


def _decode_mine_options(value: Any) -> MineOptions:
    if type(value) is not dict:
        return MineOptions(decode_number(value))
    if unknown := value.keys() - {"timestamp", "blocks"}:
        raise ValueError(f"unknown member {min(unknown)}")
    timestamp, blocks = value.get("timestamp"), value.get("blocks")
    return MineOptions(
        None if timestamp is None else decode_number(timestamp),
        1 if blocks is None else decode_number(blocks),
    )


def _decode_reset(value: Any) -> ResetOptions:
    if type(value) is not dict:
        raise mismatch(kind(value), "object")
    # alloy sends `jsonRpcUrl` and `blockNumber` without `forking` around them.
    is_bare = "forking" not in value and not value.keys().isdisjoint(("jsonRpcUrl", "blockNumber"))
    forking = value if is_bare else value.get("forking")
    if forking is None:
        return ResetOptions()
    if type(forking) is not dict:
        raise mismatch(kind(forking), "object")
    url, block = forking.get("jsonRpcUrl"), forking.get("blockNumber")
    if url is not None and type(url) is not str:
        raise mismatch(kind(url), "string")
    return ResetOptions(ForkRequest(url, None if block is None else decode_number(block)))


def _decode_placed(value: Any) -> PlacedTransaction:
    block = 0
    if type(value) is list:
        if len(value) != 2:
            raise ValueError("expected a transaction and the index of its block in the branch")
        value, block = value[0], decode_number(value[1])
    if type(value) is str:
        return PlacedTransaction(decode_bytes(value), None, block)
    return PlacedTransaction(None, decode_call_object(value), block)


def _decode_all_placed(value: Any) -> PlacedTransactions:
    decode_array(value, "array")
    check_count(len(value), MAX_PLACED, "transactions")
    check_accesses(each[0] if type(each) is list and each else each for each in value)
    return PlacedTransactions(map(_decode_placed, value))


def _decode_reorganisation(value: Any) -> ReorganisationObject:
    if type(value) is not dict:
        raise mismatch(kind(value), "object")
    if unknown := value.keys() - {"depth", "transactions"}:
        raise ValueError(f"unknown member {min(unknown)}")
    if "depth" not in value:
        raise ValueError("missing required field 'depth'")
    transactions = _decode_all_placed(value.get("transactions") or [])
    return ReorganisationObject(decode_number(value["depth"]), transactions)


register_type(LenientBytes, lambda value: LenientBytes(_decode_bytes(value)), HEX)
register_type(LenientNumber, lambda value: LenientNumber(decode_number(value, 256)), NUMBER)
register_type(LenientCount, lambda value: LenientCount(decode_number(value)), NUMBER)
register_type(MineOptions, _decode_mine_options, MINE_OPTIONS)
register_type(ResetOptions, _decode_reset, RESET_OPTIONS)
register_type(PlacedTransactions, _decode_all_placed, list_of(PLACED, most=MAX_PLACED))
register_type(ReorganisationObject, _decode_reorganisation, REORGANISATION)
