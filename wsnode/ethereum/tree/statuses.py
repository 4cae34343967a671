"""The status of a block after it was judged: valid, invalid, accepted, or of unknown parent."""

from typing import TypeAlias

import msgspec

from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal
from wsnode.ethereum.state import InvalidBlockError


class ValidBlock(msgspec.Struct, frozen=True):
    """The block and all below it keep every rule."""

    head: Head


class InvalidBlock(msgspec.Struct, frozen=True):
    """The block, or one below it, breaks a rule; `error` says which block, which rule, and both values."""

    latest_valid: Hash32
    """The parent of the lowest invalid block."""
    error: InvalidBlockError


class DeferredBlock(msgspec.Struct, frozen=True):
    """The block's header is right; too much lies between it and the head to execute it beside the head."""

    head: Head


class UnknownParentBlock(msgspec.Struct, frozen=True):
    """Nothing is known of the block's parent."""

    number: BlockNumber
    hash: Hash32
    parent_hash: Hash32


Status: TypeAlias = ValidBlock | InvalidBlock | DeferredBlock | UnknownParentBlock


class UnknownForkchoiceBlockError(Exception):
    """A block that shall be the head, or safe or finalized with it, is not known, or not on its branch."""

    def __init__(self, name: str, block_hash: bytes) -> None:
        super().__init__(f"the {name} block {hexadecimal(block_hash)} is unknown")
        self.name, self.block_hash = name, block_hash


class BelowFinalizedError(Exception):
    """The branch of a block that shall be the head leaves the chain below the finalized block."""

    def __init__(self, root: int, finalized: int) -> None:
        super().__init__(f"leaves the chain at block {root}, below block {finalized}, which is final here")
        self.root, self.finalized = root, finalized
