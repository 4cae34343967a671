"""Why an import ends before its source does; each message is one line for the operator."""

from typing import Final

from wsnode.ethereum.primitives.values import hexadecimal


class SourceError(Exception):
    """The source's bytes are not blocks; `offset` counts in the uncompressed stream."""

    def __init__(self, source: str, offset: int, problem: str) -> None:
        super().__init__(f"{source}: byte {offset}: {problem}")
        self.source, self.offset, self.problem = source, offset, problem


class UnsupportedChainError(Exception):
    """The first block of a chain cannot be read, or breaks a rule that the chain may not have."""


NO_CHECKPOINT: Final = (
    "a folder whose head is to be proved needs --checkpoint ROOT, the root of a finalized beacon block that "
    "two sources agree on"
)


class CheckpointError(Exception):
    """A light client of the beacon chain cannot begin, or go on, with the checkpoint that it has."""


class UnknownParentError(Exception):
    """A block does not follow any block that the chain knows."""

    def __init__(self, number: int, block_hash: bytes, parent_hash: bytes) -> None:
        what = f"block {number} ({hexadecimal(block_hash)})"
        if number:
            text = f"{what}: parent_hash: {hexadecimal(parent_hash)} is an unknown block"
        else:
            text = f"{what}: another chain's genesis"
        super().__init__(text)
        self.number, self.block_hash, self.parent_hash = number, block_hash, parent_hash
