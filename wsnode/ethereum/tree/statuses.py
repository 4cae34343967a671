"""Status of a block after verification: valid, invalid, deferred, or of unknown parent."""

from typing import TypeAlias

import msgspec

from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal
from wsnode.ethereum.state import InvalidBlockError


class ValidBlock(msgspec.Struct, frozen=True):
    """Status of a valid block; all its ancestors are valid too."""

    head: Head


class InvalidBlock(msgspec.Struct, frozen=True):
    """Status of an invalid block or a descendant of one; `error` names block, rule and both values."""

    latest_valid: Hash32
    """Parent hash of the lowest invalid block."""
    error: InvalidBlockError


class DeferredBlock(msgspec.Struct, frozen=True):
    """Status of a block with a valid header, not executed: its branch leaves the chain too many blocks below
    it, or only its header was to be verified.
    """

    head: Head


class UnknownParentBlock(msgspec.Struct, frozen=True):
    """Status of a block whose parent is unknown."""

    number: BlockNumber
    hash: Hash32
    parent_hash: Hash32


Status: TypeAlias = ValidBlock | InvalidBlock | DeferredBlock | UnknownParentBlock


class UnknownForkchoiceBlockError(Exception):
    """Error of a change of the head with a block that is unknown or not on the new head's branch; `name` says
    which: head, safe or finalized.
    """

    def __init__(self, name: str, block_hash: bytes) -> None:
        super().__init__(f"the {name} block {hexadecimal(block_hash)} is unknown")
        self.name, self.block_hash = name, block_hash


class BelowFinalizedError(Exception):
    """Error of a new head whose branch leaves the chain at block number `root`, below the finalized block
    number `finalized`.
    """

    def __init__(self, root: int, finalized: int) -> None:
        super().__init__(f"leaves the chain at block {root}, below block {finalized}, which is final here")
        self.root, self.finalized = root, finalized
