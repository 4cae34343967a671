"""Protocol of a display of the progress of work on the contents of a data folder."""

from typing import Protocol


class Progress(Protocol):
    """Display of the progress of a work's parts, one after another."""

    def advanced(self, part: str, done: int, total: int) -> None:
        """Show that `done` of `total` blocks, rows or bytes of a part are done; `total` may be estimated."""
