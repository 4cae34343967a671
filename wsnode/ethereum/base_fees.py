"""The fee formulas: what the block after a given one asks for gas and for blob gas."""

from typing import Final

from wsnode.ethereum.codec.rows import Header
from wsnode.ethereum.state import ChainSpec

INITIAL_BASE_FEE: Final = 1_000_000_000
ELASTICITY: Final = 2
BASE_FEE_CHANGE_DENOMINATOR: Final = 8
GAS_PER_BLOB: Final = 1 << 17
BLOB_BASE_COST: Final = 1 << 13
_BEFORE_BASE_FEES: Final = frozenset(
    {
        "Frontier",
        "Homestead",
        "Tangerine Whistle",
        "Spurious Dragon",
        "Byzantium",
        "Constantinople",
        "Petersburg",
        "Istanbul",
        "Muir Glacier",
        "Berlin",
    }
)
_BEFORE_RESERVE_PRICE: Final = frozenset({"Cancun", "Prague"})


def next_base_fee(spec: ChainSpec, parent: Header) -> int | None:
    """Return the base fee of the block after `parent`, None before there are base fees."""
    if parent.base_fee is None:
        begun = spec.fork_name(parent.number + 1, parent.timestamp) not in _BEFORE_BASE_FEES
        return INITIAL_BASE_FEE if begun else None
    target = parent.gas_limit // ELASTICITY
    difference = parent.gas_used - target
    change = parent.base_fee * abs(difference) // target // BASE_FEE_CHANGE_DENOMINATOR
    if difference > 0:
        return parent.base_fee + max(change, 1)
    return parent.base_fee - change


def blob_base_fee(spec: ChainSpec, header: Header) -> int | None:
    """Return the price of blob gas in a block, None before there are blobs."""
    parameters = spec.blob_parameters(header.timestamp)
    if header.excess_blob_gas is None or parameters is None:
        return None
    return _exponential(header.excess_blob_gas, parameters[2])


def next_blob_base_fee(spec: ChainSpec, parent: Header) -> int | None:
    """Return the price of blob gas after `parent` under its own fork's rules, None before there are blobs."""
    parameters = spec.blob_parameters(parent.timestamp)
    if parent.excess_blob_gas is None or parameters is None:
        return None
    return _exponential(_next_excess(spec, parent, *parameters), parameters[2])


def blob_gas_limit(spec: ChainSpec, header: Header) -> int:
    """Return the most blob gas that a block at that time may use, 0 before there are blobs."""
    parameters = spec.blob_parameters(header.timestamp)
    return parameters[1] * GAS_PER_BLOB if parameters else 0


def _next_excess(spec: ChainSpec, parent: Header, target: int, most: int, fraction: int) -> int:
    excess, used = parent.excess_blob_gas or 0, parent.blob_gas_used or 0
    if excess + used < target * GAS_PER_BLOB:
        return 0
    if spec.fork_name(parent.number, parent.timestamp) not in _BEFORE_RESERVE_PRICE:
        # Since Osaka a blob is not to cost less than the execution gas that it saves.
        reserve = BLOB_BASE_COST * (parent.base_fee or 0)
        if reserve > GAS_PER_BLOB * _exponential(excess, fraction):
            return excess + used * (most - target) // most
    return excess + used - target * GAS_PER_BLOB


def _exponential(numerator: int, denominator: int) -> int:
    """Return e to the power of a fraction, by its series in whole numbers (fake_exponential)."""
    total, term, count = 0, denominator, 1
    while term > 0:
        total += term
        term = term * numerator // (denominator * count)
        count += 1
    return total // denominator
