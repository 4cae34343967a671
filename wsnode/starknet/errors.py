"""Errors of a chain or a dump, each in one line that names the place."""

from pathlib import Path

from wsnode.starknet.felt import felt_text


class StarknetError(Exception):
    """Error of a Starknet chain that cannot continue."""


class BusyError(StarknetError):
    """Error of a folder to which another process writes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: another process writes to this folder")
        self.folder = folder


class BlockDumpError(StarknetError):
    """Error of a dump that cannot be imported as a whole."""


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
