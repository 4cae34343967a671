"""How far work on the contents of a data folder has come."""

from typing import Protocol


class Progress(Protocol):
    """Shows how far the work has come, part after part."""

    def advanced(self, part: str, done: int, total: int) -> None:
        """Show how much of a part, its blocks or bytes, is done; its `total` may be an estimate."""
