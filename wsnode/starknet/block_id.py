"""References to blocks: a number, a hash, the latest or the pending one (starknet-specs BLOCK_ID)."""

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from wsnode.starknet.felt import Felt, decode_felt

MAX_NUMBER = 2**64 - 1


class ByNumber(msgspec.Struct, frozen=True):
    """Reference to the block of this number."""

    number: int


class ByHash(msgspec.Struct, frozen=True):
    """Reference to the block of this hash."""

    hash: Felt


class Latest(msgspec.Struct, frozen=True):
    """Reference to the head."""


class Pending(msgspec.Struct, frozen=True):
    """Reference to the block that is being built on the head."""


class PreConfirmed(Pending, frozen=True):
    """Reference to the pending block under its name in starknet-specs, `pre_confirmed`; none exists while the
    chain is behind its upstreams.
    """


class L1Accepted(msgspec.Struct, frozen=True):
    """Reference to the last block that L1 has accepted."""


Choice: TypeAlias = ByNumber | ByHash | Latest | Pending | L1Accepted

_TAGS: dict[str, Callable[[], Choice]] = {
    "latest": Latest,
    "pending": Pending,
    "pre_confirmed": PreConfirmed,
    "l1_accepted": L1Accepted,
}


class BlockId:
    """Block parameter: `{block_number}`, `{block_hash}`, or a tag such as `latest`.

    It is no Struct, because msgspec would not ask `decode_block_id` for one.
    """

    __slots__ = ("choice",)

    def __init__(self, choice: Choice) -> None:
        self.choice = choice


def decode_block_id(value: object) -> BlockId:
    """Return the block that the JSON `value` names.

    Raises:
        ValueError: It names none.
    """
    if isinstance(value, str):
        return BlockId(_tagged(value))
    if isinstance(value, dict):
        # If both members are present, the number counts, as in pathfinder.
        if "block_number" in value:
            return BlockId(ByNumber(_number(value["block_number"])))
        if "block_hash" in value:
            return BlockId(ByHash(decode_felt(value["block_hash"])))
    raise ValueError("a block id is {block_number}, {block_hash}, or a tag such as latest")


def _tagged(tag: str) -> Choice:
    if (choice := _TAGS.get(tag)) is None:
        raise ValueError(f"unknown block tag {tag[:40]!r}")
    return choice()


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_NUMBER:
        raise ValueError("block_number is a whole number, not negative")
    return value
