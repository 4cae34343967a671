"""Status of a payload, as sent to a consensus client."""

from typing import Final, Literal

import msgspec

from wsnode.ethereum.primitives.values import Hash32, hexadecimal

BEFORE_THE_MERGE: Final = Hash32(bytes(32))
"""Hash in place of the last valid block if that is one of proof of work."""


class PayloadStatus(msgspec.Struct, frozen=True, rename="camel"):
    """PayloadStatusV1 of the Engine API."""

    status: Literal["VALID", "INVALID", "SYNCING", "ACCEPTED", "INVALID_BLOCK_HASH"]
    latest_valid_hash: str | None = None
    validation_error: str | None = None


SYNCING: Final = PayloadStatus("SYNCING")
ACCEPTED: Final = PayloadStatus("ACCEPTED")


def valid(block_hash: bytes) -> PayloadStatus:
    """Return the status of a valid block."""
    return PayloadStatus("VALID", hexadecimal(block_hash))


def invalid(latest_valid: bytes | None, error: str) -> PayloadStatus:
    """Return the status of an invalid block, or of a descendant of one."""
    return PayloadStatus("INVALID", None if latest_valid is None else hexadecimal(latest_valid), error)
