"""Errors of imports and of following that the operator can correct; each message is one line."""

from typing import Final

from wsnode.ethereum.primitives.values import hexadecimal


class SourceError(Exception):
    """Error of an import source that has no block at `offset`, counted in bytes of the uncompressed stream;
    `problem` says why.
    """

    def __init__(self, source: str, offset: int, problem: str) -> None:
        super().__init__(f"{source}: byte {offset}: {problem}")
        self.source, self.offset, self.problem = source, offset, problem


class UnsupportedChainError(Exception):
    """Error of an unreadable first block of a chain, or of one that breaks a rule of Ethereum."""


NO_CHECKPOINT: Final = (
    "a folder whose head is to be proved needs --checkpoint ROOT, the root of a finalized beacon block that "
    "two sources agree on"
)


class CheckpointError(Exception):
    """Error of a light client of the beacon chain that cannot begin with its checkpoint, or go on from it."""


class UnknownParentError(Exception):
    """Error of a block whose parent the chain does not know."""

    def __init__(self, number: int, block_hash: bytes, parent_hash: bytes) -> None:
        what = f"block {number} ({hexadecimal(block_hash)})"
        if number:
            text = f"{what}: parent_hash: {hexadecimal(parent_hash)} is an unknown block"
        else:
            text = f"{what}: another chain's genesis"
        super().__init__(text)
        self.number, self.block_hash, self.parent_hash = number, block_hash, parent_hash
