"""Block of Starknet: its header and its state diff; transactions too, if its source has receipts."""

from typing import Any

import msgspec

from wsnode.starknet.state_diff import StateDiff


class StarknetHeader(msgspec.Struct, frozen=True, kw_only=True):
    """Members of a block other than its diff; of a state update only the hash is known."""

    hash: bytes
    number: int | None = None
    parent_hash: bytes | None = None
    root: bytes | None = None
    timestamp: int | None = None
    version: str | None = None
    commitment: bytes | None = None
    """Commitment to the state diff."""
    more: dict[str, Any] = {}
    """Further members of starknet-specs' BLOCK_HEADER, in the form of results, not checked."""


class UnverifiedStarknetBlock(msgspec.Struct, frozen=True, kw_only=True):
    """Block from a source, not verified."""

    number: int
    header: StarknetHeader
    old_root: bytes
    new_root: bytes
    diff: StateDiff
    body: bytes | None = None
    """JSON of the block with transactions and receipts as nodes send it, or None if the source lacks it."""

    @property
    def hash(self) -> bytes:
        return self.header.hash


class VerifiedStarknetBlock(UnverifiedStarknetBlock, frozen=True, kw_only=True):
    """Block checked against the head before it.

    Its `body` is in the stored form, and None if the block's hash does not prove the body.
    """


def version_numbers(version: str | None) -> tuple[int, ...] | None:
    """Return the numbers of a version, (0, 13, 2) for `0.13.2`; None without a version.

    A part that is no number counts as 0.
    """
    if not version:
        return None
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split("."))
