"""A block of this family: its header and what it changed; transactions are not kept."""

from typing import Any

import msgspec

from wsnode.starknet.state_diff import StateDiff


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a source tells of a block beside its diff; a state update alone tells none of it."""

    hash: bytes
    number: int | None = None
    parent_hash: bytes | None = None
    root: bytes | None = None
    timestamp: int | None = None
    version: str | None = None
    commitment: bytes | None = None
    """To the state diff."""
    more: dict[str, Any] = {}
    """Members of starknet-specs' BLOCK_HEADER that are only passed on, as they are answered."""


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
    """A block that fits on the head it was checked against."""


def version_numbers(version: str | None) -> tuple[int, ...] | None:
    """Return `0.13.2` as numbers, nothing when the version is unknown."""
    if not version:
        return None
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split("."))
