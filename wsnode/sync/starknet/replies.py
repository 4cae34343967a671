"""Decoders of the replies of Starknet nodes, RPC 0.9 and 0.10, within bounds."""

from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec

from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.starknet.block import StarknetHeader, UnverifiedStarknetBlock
from wsnode.starknet.diff_json import decode_state_diff
from wsnode.starknet.dump.header_members import header_members
from wsnode.starknet.felt import Felt, decode_felt, felt_bytes, felt_text, short_string
from wsnode.untrusted.decoding import JsonDecoder, MalformedError

MAX_VERSION: Final = 32
"""Maximum number of characters of a version's text."""
MAX_NUMBER: Final = 2**63 - 1
"""Highest block number, and highest timestamp in seconds."""

_Number = Annotated[int, msgspec.Meta(ge=0, le=MAX_NUMBER)]
_Time = Annotated[int, msgspec.Meta(ge=0, le=MAX_NUMBER)]
_Version = Annotated[str, msgspec.Meta(max_length=MAX_VERSION)]


class StarknetHead(Head, frozen=True):
    """Number and hash of a block of a Starknet chain."""

    def members(self) -> dict[str, str]:
        """Return number and hash as members of a JSON object; felts have no leading zeros."""
        return {"number": hex(self.number), "hash": felt_text(self.hash)}

    def __str__(self) -> str:
        return f"{self.number} {felt_text(self.hash)}"


def head_at(number: int, block_hash: bytes) -> StarknetHead:
    """Return the head with this number and hash."""
    return StarknetHead(BlockNumber(number), Hash32(block_hash))


class _ToldHead(msgspec.Struct, frozen=True):
    block_hash: Felt
    block_number: _Number


class _ToldBlock(msgspec.Struct, frozen=True):
    block_hash: Felt
    block_number: _Number
    parent_hash: Felt
    new_root: Felt
    timestamp: _Time
    starknet_version: _Version
    transactions: list[msgspec.Raw]
    state_diff_commitment: Felt | None = None


class _ToldUpdate(msgspec.Struct, frozen=True):
    block_hash: Felt
    old_root: Felt
    new_root: Felt
    state_diff: msgspec.Raw


def _decoder(type_: Any) -> Callable[[bytes], Any]:
    return JsonDecoder[Any](type_, dec_hook=lambda _type, value: decode_felt(value)).decode


_decode_head = _decoder(_ToldHead)
_decode_block = _decoder(_ToldBlock)
_decode_update = _decoder(_ToldUpdate)
_decode_text = JsonDecoder(str).decode


def decode_head(text: bytes) -> StarknetHead:
    """Return number and hash from a result of `blockHashAndNumber`, a header, or a block.

    Raises:
        MalformedError: A member is missing or malformed.
    """
    told = _decode_head(text)
    return head_at(told.block_number, told.block_hash)


def decode_spec_version(text: bytes) -> tuple[int, ...]:
    """Return the numbers of a node's version of starknet-specs: (0, 10, 3) for `0.10.3-rc.1`.

    Raises:
        MalformedError: The text is no version.
    """
    version = _decode_text(text)
    numbers = version.partition("-")[0].split(".")
    if len(version) > MAX_VERSION or not all(number.isascii() and number.isdecimal() for number in numbers):
        raise MalformedError(f"{version[:MAX_VERSION]!r} is no version")
    return tuple(map(int, numbers))


def decode_chain_id(text: bytes) -> str:
    """Return the name of a chain from its felt: SN_MAIN for 0x534e5f4d41494e.

    Raises:
        MalformedError: The text is no felt of printable characters.
    """
    told = _decode_text(text)
    try:
        return short_string(felt_bytes(told))
    except ValueError:
        raise MalformedError(f"{told[:80]!r} is the name of no chain") from None


def decode_block(block: bytes, update: bytes) -> UnverifiedStarknetBlock:
    """Return a block from the results of `getBlockWithReceipts` and `getStateUpdate`.

    Raises:
        MalformedError: A member is missing or malformed, or the two are of different blocks.
    """
    told, changes = _decode_block(block), _decode_update(update)
    if told.block_hash != changes.block_hash:
        raise MalformedError(
            f"the state update is of block {felt_text(changes.block_hash)}, not {felt_text(told.block_hash)}"
        )
    try:
        diff = decode_state_diff(changes.state_diff)
    except ValueError as error:
        raise MalformedError(f"state_diff: {error}") from None
    header = StarknetHeader(
        # Rows have plain bytes and no felts.
        hash=bytes(told.block_hash),
        number=told.block_number,
        parent_hash=bytes(told.parent_hash),
        root=bytes(told.new_root),
        timestamp=told.timestamp,
        version=told.starknet_version,
        commitment=told.state_diff_commitment and bytes(told.state_diff_commitment),
        more=header_members(block),
    )
    return UnverifiedStarknetBlock(
        number=told.block_number,
        header=header,
        old_root=bytes(changes.old_root),
        new_root=bytes(changes.new_root),
        diff=diff,
        body=block,
    )
