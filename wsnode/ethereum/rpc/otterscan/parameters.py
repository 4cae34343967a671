"""Parameters of the ots_ methods: numbers may be JSON numbers, as Otterscan sends them, or quantities."""

from typing import Any

import msgspec

from wsnode.ethereum.primitives.values import Address
from wsnode.ethereum.rpc.blocks.methods import BlockHashParameters, HashParameters
from wsnode.ethereum.rpc.common.parameters import (
    BLOCK,
    BLOCK_NUMBER,
    LATEST,
    BlockParameter,
    NumberOrTag,
    decode_block_number,
    decode_block_parameter,
)
from wsnode.ethereum.rpc.common.schemas import ANY_QUANTITY
from wsnode.ethereum.rpc.parity_traces.parameters import decode_count
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.schema import COUNT, either

__all__ = ["BlockHashParameters", "HashParameters"]


class AnyCount(int):
    """A number below 2**64: a JSON number or a quantity."""


class AnyBlockNumber(NumberOrTag):
    """A block's number as a JSON number or a quantity, or a tag."""


class AnyBlock(BlockParameter):
    """A block as `eth_call` takes it, or its number as a JSON number."""

    __slots__ = ()


class OtterscanNumberParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[block]`, by number or tag."""

    block: AnyBlockNumber


class OtterscanPageParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[block, page, page size]`; page 0 has the block's last transactions."""

    block: AnyBlockNumber
    page: AnyCount
    page_size: AnyCount


class OtterscanCodeParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address, block]`; without `block`, the latest."""

    address: Address
    block: AnyBlock = AnyBlock(LATEST)


class ContractParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address]`."""

    address: Address


class OtterscanNonceParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[sender, nonce]`."""

    sender: Address
    nonce: AnyCount


class SearchParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address, block, page size]`; `block` is the number of the block before or after which to search, 0
    for the chain's end where the search begins.
    """

    address: Address
    block: AnyCount
    page_size: AnyCount


def _decode_number(value: Any) -> AnyBlockNumber:
    return AnyBlockNumber(decode_count(value) if type(value) is int else decode_block_number(value))


def _decode_block(value: Any) -> AnyBlock:
    if type(value) is int:
        return AnyBlock(NumberOrTag(decode_count(value)))
    block = decode_block_parameter(value)
    return AnyBlock(block.number, block.hash, require_canonical=block.require_canonical)


register_type(AnyCount, lambda value: AnyCount(decode_count(value)), either(COUNT, ANY_QUANTITY))
register_type(AnyBlockNumber, _decode_number, either(COUNT, BLOCK_NUMBER))
register_type(AnyBlock, _decode_block, either(COUNT, BLOCK))
