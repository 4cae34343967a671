"""The kinds of folders: full or light, with all blocks or a window of them. A folder is of one for life."""

from typing import Final

import msgspec

from wsnode.ethereum.storage.tables import (
    LIGHT_SCHEMA_VERSION,
    SCHEMA_VERSION,
    WINDOW_SCHEMA_VERSION,
)

BLOCKS_A_SECOND: Final = 10
"""At most so many count for a window by time, so that it ends even where blocks do not get later."""


class FolderKind(msgspec.Struct, frozen=True):
    """How many blocks a folder keeps, None for all of them, and whether it executes none of them."""

    window: int | None = None
    is_light: bool = False
    window_seconds: int | None = None
    """How old the oldest block may be, if the blocks of `window` are younger; only in a light folder."""
    is_usual: bool = False
    """Whether nobody chose the window, so that a light folder with any will do."""

    @property
    def most_blocks(self) -> int | None:
        """Return how many blocks a folder keeps at most of those that are final, None for all of them."""
        if self.window is None or self.window_seconds is None:
            return self.window
        return max(self.window, self.window_seconds * BLOCKS_A_SECOND)

    def admits(self, found: "FolderKind") -> bool:
        """Return whether a folder of another kind will do where one of this kind was to be made."""
        if self.is_usual:
            return found.is_light
        return self in (FULL, found)

    @property
    def schema_version(self) -> int:
        """Return the version of the chain store; releases refuse those of kinds that they do not know."""
        if self.is_light:
            return LIGHT_SCHEMA_VERSION
        return SCHEMA_VERSION if self.window is None else WINDOW_SCHEMA_VERSION

    def __str__(self) -> str:
        """Return it in words."""
        name = "a light folder" if self.is_light else "a full folder"
        if self.window is None:
            return name
        blocks = f"{self.window} blocks"
        if self.window_seconds is None:
            return f"{name} of {blocks}"
        least = "" if self.window == 1 else f", and {blocks} or more"
        return f"{name} of {self.window_seconds} seconds{least}"


FULL: Final = FolderKind()
