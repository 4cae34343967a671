"""Errors of a chain or a dump, each in one line that names the place."""

from pathlib import Path

from wsnode.starknet.felt import felt_text


class StarknetError(Exception):
    """Error for which work on a Starknet chain cannot continue; base of the other errors, and the message
    gives the reason.
    """


class BusyError(StarknetError):
    """Error of a folder to which another process writes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: another process writes to this folder")
        self.folder = folder


class BlockDumpError(StarknetError):
    """Error of a dump as a whole, not of one of its blocks: it cannot be imported, for the reason in the
    message.
    """


class InvalidStarknetBlockError(StarknetError):
    """Error of a block that breaks a rule; the blocks before it stay."""

    def __init__(self, number: int, block_hash: bytes, rule: str, expected: str, actual: str) -> None:
        super().__init__(
            f"block {number} ({felt_text(block_hash)}): {rule}: expected {expected}, got {actual}"
        )
        self.number = number
        self.block_hash = block_hash
        self.rule = rule
        self.expected = expected
        self.actual = actual
