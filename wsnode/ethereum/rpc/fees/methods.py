"""Methods that return the next block's fees and suggest a price to senders."""

from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.rendering import render_block
from wsnode.ethereum.codec.rows import Header, header_fields
from wsnode.ethereum.rpc.common.lookup import rows
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.common.results import NULL, quantity
from wsnode.ethereum.rpc.common.schemas import QUANTITY
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import or_null
from wsnode.jsonrpc.work import JsonText

# Settings of geth's price oracle (eth/ethconfig, gasprice.Config); `FIRST_PRICE` is the default price of
# geth's miner.
SAMPLED_BLOCKS: Final = 20
SAMPLES_A_BLOCK: Final = 3
PERCENTILE: Final = 60
IGNORED_BELOW: Final = 2
HIGHEST_PRICE: Final = 500 * 10**9
FIRST_PRICE: Final = 1_000_000
KEPT_BLOCKS: Final = 4 * SAMPLED_BLOCKS


class PriceOracle:
    """Adviser of a priority fee in wei: the 60th percentile of the lowest tips of recent blocks, as in geth;
    before London, of a gas price.
    """

    def __init__(self, price_before_london: int | None = None) -> None:
        """Make an oracle that returns `price_before_london`, in wei, before there are base fees."""
        self._price_before_london = price_before_london
        self._head = b""
        self._price = FIRST_PRICE
        self._tips: dict[bytes, list[int]] = {}
        """Tips by block hash: a chain with a block for each transaction is asked after each block."""

    def set_price_before_london(self, price: int) -> None:
        """Set the price, in wei, to advise before there are base fees."""
        self._price_before_london = price

    def tip(self, view: Snapshot) -> int:
        """Return the suggested tip for one of the next blocks, in wei; before London, the whole price."""
        if self._price_before_london is not None and head_header(view).base_fee is None:
            return self._price_before_london
        if view.head.hash != self._head:
            samples = sorted(self._samples(view))
            price = samples[(len(samples) - 1) * PERCENTILE // 100] if samples else self._price
            self._price = min(price, HIGHEST_PRICE)
            self._head = view.head.hash
        return self._price

    def _samples(self, view: Snapshot) -> list[int]:
        samples: list[int] = []
        number, wanted = int(view.number), SAMPLED_BLOCKS
        lowest = max(view.earliest, 1)
        while wanted > 0 and number >= lowest:
            tips = self._lowest_tips(view, number) or [self._price]
            wanted -= 1
            # For a block with a single tip another block is read, up to twice the number of blocks.
            if len(tips) == 1 and len(samples) + 1 + wanted < 2 * SAMPLED_BLOCKS:
                wanted += 1
            samples += tips
            number -= 1
        return samples

    def _lowest_tips(self, view: Snapshot, number: int) -> list[int]:
        block_hash = view.hash_of(number) or b""
        tips = self._tips.get(block_hash)
        if tips is None:
            if len(self._tips) >= KEPT_BLOCKS:
                del self._tips[next(iter(self._tips))]
            tips = self._tips[block_hash] = _lowest_tips(view, number)
        return tips


def _lowest_tips(view: Snapshot, number: int) -> list[int]:
    """Return the lowest tips of a block in wei, its miner's own transactions and tiny tips excluded."""
    found = rows(view, number)
    assert found is not None
    block: dict[str, Any] = msgspec.json.decode(render_block(*found, full=True))
    base_fee = int(block.get("baseFeePerGas", "0x0"), 16)
    tips = sorted(
        int(transaction["gasPrice"], 16) - base_fee
        for transaction in block["transactions"]
        if transaction["from"] != block["miner"]
    )
    return [tip for tip in tips if tip >= IGNORED_BELOW][:SAMPLES_A_BLOCK]


def _optional(number: int | None) -> JsonText:
    return NULL if number is None else quantity(number)


def head_header(view: Snapshot) -> Header:
    """Return the header of the head."""
    row = view.header(view.number)
    assert row is not None, "the head is stored"
    return header_fields(row)


def add_methods(registry: Registry, pending: PendingState, oracle: PriceOracle) -> None:
    """Register this module's methods."""

    @registry.method("eth_maxPriorityFeePerGas", cacheable=True, result=QUANTITY)
    def max_priority_fee(view: Snapshot) -> JsonText:
        """Return the suggested tip for a unit of gas, in wei."""
        return quantity(oracle.tip(view))

    @registry.method("eth_gasPrice", cacheable=True, result=QUANTITY)
    def gas_price(view: Snapshot) -> JsonText:
        """Return the suggested gas price, in wei: the suggested tip plus the head's base fee."""
        return quantity(oracle.tip(view) + (pending.advised_base_fee(head_header(view)) or 0))

    @registry.method("eth_baseFee", cacheable=True, result=or_null(QUANTITY))
    def base_fee(view: Snapshot) -> JsonText:
        """Return the base fee of the next block, in wei; null before London."""
        return _optional(pending.base_fee(view.spec, head_header(view)))

    @registry.method("eth_blobBaseFee", cacheable=True, result=or_null(QUANTITY))
    def blob_base_fee(view: Snapshot) -> JsonText:
        """Return the head's price of a unit of blob gas, in wei; null before Cancun."""
        return _optional(head_header(view).blob_base_fee)
