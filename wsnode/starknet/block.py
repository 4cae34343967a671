"""A block of this family: its header and its state diff; transactions are not kept."""

from typing import Any

import msgspec

from wsnode.starknet.state_diff import StateDiff


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The members of a block beside its diff; a state update alone has none of them."""

    hash: bytes
    number: int | None = None
    parent_hash: bytes | None = None
    root: bytes | None = None
    timestamp: int | None = None
    version: str | None = None
    commitment: bytes | None = None
    """The commitment to the state diff."""
    more: dict[str, Any] = {}
    """Members of starknet-specs' BLOCK_HEADER that are passed on unchecked, in the form of results."""


class UnverifiedBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A block as a source gave it."""

    number: int
    header: Header
    old_root: bytes
    new_root: bytes
    diff: StateDiff

    @property
    def hash(self) -> bytes:
        """The block's hash."""
        return self.header.hash


class VerifiedBlock(UnverifiedBlock, frozen=True, kw_only=True):
    """A block that follows the head against which it was checked."""


def version_numbers(version: str | None) -> tuple[int, ...] | None:
    """Return `0.13.2` as numbers, None for an unknown version."""
    if not version:
        return None
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split("."))
