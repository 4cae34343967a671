"""eth_feeHistory: base fees, fullness and tips of a range of blocks."""

import json
from collections.abc import Generator
from typing import Any, Final, TypeAlias

import msgspec

from wsnode.ethereum.codec.rendering import render_receipts
from wsnode.ethereum.codec.rows import Header, header_fields
from wsnode.ethereum.rpc.common.decoding import decode_array, kind, mismatch
from wsnode.ethereum.rpc.common.lookup import is_pending, numbered, rows
from wsnode.ethereum.rpc.common.parameters import NumberOrTag
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.common.schemas import ANY_QUANTITY, QUANTITY
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import ECHO_CHARACTERS, server_error, shortened
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import either, list_of, or_null, record

MAX_BLOCKS: Final = 1024
MAX_PERCENTILES: Final = 100
KEPT_BLOCKS: Final = 256
"""Blocks whose tips are cached: wallets repeat the call with every block, and 100 tips take 15 kB."""

Tips: TypeAlias = list[tuple[int, int]]
"""Tip and gas used of each transaction of a block, lowest tip first."""


class BlockCount(int):
    """A number of blocks; unlike other numbers also in decimal, quoted or not."""


class Percentiles(list[float]):
    """Percentiles, from 0 to 100, of the gas used in a block; the tip at each is returned."""


class FeeHistoryParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[count, newest block, percentiles]`: the number of blocks, the last of them, and the percentiles of
    gas used at which to return tips.
    """

    count: BlockCount
    newest: NumberOrTag
    percentiles: Percentiles


_RATIOS: Final = list_of({"type": "number"})
_HISTORY: Final = record(
    {"oldestBlock": QUANTITY, "gasUsedRatio": or_null(_RATIOS)},
    {
        **dict.fromkeys(("baseFeePerGas", "baseFeePerBlobGas"), list_of(QUANTITY)),
        "blobGasUsedRatio": _RATIOS,
        "reward": list_of(list_of(QUANTITY)),
    },
)
_ERRORS: Final = (
    server_error("request beyond head block: requested N, head M"),
    server_error("invalid reward percentile: …"),
)
NO_BLOCKS: Final = {"oldestBlock": "0x0", "gasUsedRatio": None}


class FeeHistoryMethods:
    """Handler of eth_feeHistory; its range may end with the pending block."""

    def __init__(self, pending: PendingState) -> None:
        self._pending = pending
        self._tips: dict[bytes, Tips] = {}

    def fee_history(
        self, view: Snapshot, params: FeeHistoryParameters
    ) -> Generator[None, Any, dict[str, Any]]:
        """Return base fees, shares of gas used and tips of up to 1024 blocks, and the base fees of the next
        one.
        """
        if params.count == 0:
            return NO_BLOCKS
        _check_percentiles(params.percentiles)
        newest = _newest(view, params.newest)
        count = min(params.count, MAX_BLOCKS, newest + 1 - view.earliest)
        headers, rewards = [], []
        for number in range(newest + 1 - count, newest + 1):
            headers.append(header_fields(self._header(view, number)))
            if params.percentiles:
                tips = self._tips_of(view, headers[-1])
                rewards.append(_rewards(tips, headers[-1].gas_used, params.percentiles))
                yield
        history: dict[str, Any] = {"oldestBlock": hex(headers[0].number)}
        if rewards:
            history["reward"] = rewards
        return history | _fees(view, headers, self._next_base_fee(view, headers[-1]))

    def _next_base_fee(self, view: Snapshot, last: Header) -> int | None:
        if last.number == view.number:
            return self._pending.base_fee(view.spec, last)
        return view.spec.next_base_fee(last)

    def _tips_of(self, view: Snapshot, header: Header) -> Tips:
        if header.number > view.number:
            return []
        tips = self._tips.get(header.hash)
        if tips is None:
            tips = self._tips[header.hash] = _tips(view, header.number)
            if len(self._tips) > KEPT_BLOCKS:
                del self._tips[next(iter(self._tips))]
        return tips

    def _header(self, view: Snapshot, number: int) -> bytes:
        return view.header(number) or self._pending.after(view).header


def _newest(view: Snapshot, number: NumberOrTag) -> int:
    """Return the number of the range's last block, which may be the pending one.

    Raises:
        RpcError: It is beyond the head.
    """
    if is_pending(view, number):
        return view.number + 1
    newest = numbered(view, number)
    if newest is None:
        raise server_error(f"request beyond head block: requested {number}, head {view.number}")
    return newest


def _fees(view: Snapshot, headers: list[Header], following: int | None) -> dict[str, Any]:
    spec, last = view.spec, headers[-1]
    base_fees = [header.base_fee for header in headers] + [following]
    blob_fees = [header.blob_base_fee for header in headers] + [spec.next_blob_base_fee(last)]
    return {
        "baseFeePerGas": [hex(fee or 0) for fee in base_fees],
        "gasUsedRatio": [header.gas_used / header.gas_limit for header in headers],
        "baseFeePerBlobGas": [hex(fee or 0) for fee in blob_fees],
        "blobGasUsedRatio": [
            (header.blob_gas_used or 0) / (spec.blob_gas_limit(header.timestamp) or 1) for header in headers
        ],
    }


def _tips(view: Snapshot, number: int) -> Tips:
    found, receipts = rows(view, number), view.receipts(number)
    assert found is not None
    assert receipts is not None
    base_fee = header_fields(found[0]).base_fee or 0
    paid = [
        (int(receipt["effectiveGasPrice"], 16), int(receipt["gasUsed"], 16))
        for receipt in msgspec.json.decode(render_receipts(*found, receipts))
    ]
    # Transactions that a chain's protocol makes pay nothing, not even the base fee, so their tip would be
    # negative.
    return sorted(((max(0, price - base_fee), used) for price, used in paid), key=lambda tip: tip[0])


def _rewards(tips: Tips, gas_used: int, percentiles: Percentiles) -> list[str]:
    """Return for each percentile the tip, in wei, paid at that percentile of the gas used."""
    if not tips:
        return ["0x0"] * len(percentiles)
    rewards, position, reached = [], 0, tips[0][1]
    for percentile in percentiles:
        threshold = int(gas_used * percentile / 100)
        while reached < threshold and position < len(tips) - 1:
            position += 1
            reached += tips[position][1]
        rewards.append(hex(tips[position][0]))
    return rewards


def _check_percentiles(percentiles: Percentiles) -> None:
    for index, percentile in enumerate(percentiles):
        if not 0 <= percentile <= 100:
            raise server_error(f"invalid reward percentile: {percentile:f}")
        if index and percentile <= (before := percentiles[index - 1]):
            order = f"#{index - 1}:{before:f} >= #{index}:{percentile:f}"
            raise server_error(f"invalid reward percentile: {order}")


def decode_block_count(value: Any) -> BlockCount:
    """Return the number below 2**64 that `value` writes in hex or decimal; the empty string is 0."""
    text = value if type(value) is str else json.dumps(value)
    if len(text) > ECHO_CHARACTERS:
        raise ValueError(f'invalid hex or decimal integer "{shortened(text)}"')
    digits, base = (text[2:], 16) if text[:2] in {"0x", "0X"} else (text, 10)
    if text == "":
        return BlockCount(0)
    if digits.isalnum() and digits.isascii():
        try:
            number = int(digits, base)
        except ValueError:
            number = 1 << 64
        if number < 1 << 64:
            return BlockCount(number)
    raise ValueError(f'invalid hex or decimal integer "{text}"')


def _decode_percentiles(value: Any) -> Percentiles:
    decode_array(value, "[]float64")
    if len(value) > MAX_PERCENTILES:
        raise server_error(f"invalid reward percentile: over the query limit {MAX_PERCENTILES}")
    for item in value:
        if type(item) not in {int, float}:
            raise mismatch(kind(item), "float64")
    return Percentiles(map(float, value))


def add_methods(registry: Registry, pending: PendingState) -> None:
    """Register this module's method."""
    method = registry.method("eth_feeHistory", result=_HISTORY, errors=_ERRORS)
    method(FeeHistoryMethods(pending).fee_history)


register_type(BlockCount, decode_block_count, either(ANY_QUANTITY, {"type": "integer"}))
register_type(
    Percentiles,
    _decode_percentiles,
    or_null(list_of({"type": "number", "minimum": 0, "maximum": 100}, most=MAX_PERCENTILES)),
)
