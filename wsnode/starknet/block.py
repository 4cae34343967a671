"""A block of this family: its header and its state diff; transactions too, if its source has receipts."""

from typing import Any

import msgspec

from wsnode.starknet.state_diff import StateDiff


class StarknetHeader(msgspec.Struct, frozen=True, kw_only=True):
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


class UnverifiedStarknetBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A block as a source gave it."""

    number: int
    header: StarknetHeader
    old_root: bytes
    new_root: bytes
    diff: StateDiff
    body: bytes | None = None
    """The block with transactions and receipts in the form of nodes, if the source has them."""

    @property
    def hash(self) -> bytes:
        """The block's hash."""
        return self.header.hash


class VerifiedStarknetBlock(UnverifiedStarknetBlock, frozen=True, kw_only=True):
    """A block that follows the head against which it was checked.

    Its `body` is in the form in which it is stored, and only there if the block's hash proves it.
    """


def version_numbers(version: str | None) -> tuple[int, ...] | None:
    """Return `0.13.2` as numbers, None for an unknown version."""
    if not version:
        return None
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split("."))
