"""Kinds of folders: full or light, with all blocks or a window of them. A folder never changes its kind."""

from typing import Final

import msgspec

from wsnode.ethereum.storage.tables import (
    LIGHT_SCHEMA_VERSION,
    SCHEMA_VERSION,
    WINDOW_SCHEMA_VERSION,
)

BLOCKS_A_SECOND: Final = 10
"""Maximum blocks of a second in a window by time: it bounds the window if timestamps do not grow."""


class FolderKind(msgspec.Struct, frozen=True):
    """Kind of a folder: full, or light without executed blocks, and `window`, the number of recent blocks
    kept, None for all.
    """

    window: int | None = None
    is_light: bool = False
    window_seconds: int | None = None
    """Age of the oldest block kept in a light folder, in seconds; at least `window` blocks are kept."""
    is_usual: bool = False
    """True if the window is a default: a light folder with any window will do then."""

    @property
    def most_blocks(self) -> int | None:
        """Return the greatest number of final blocks that a folder keeps, None for all of them."""
        if self.window is None or self.window_seconds is None:
            return self.window
        return max(self.window, self.window_seconds * BLOCKS_A_SECOND)

    def admits(self, found: "FolderKind") -> bool:
        """Return True if a folder of kind `found` may be opened where this kind was asked for."""
        if self.is_usual:
            return found.is_light
        return self in (FULL, found)

    @property
    def schema_version(self) -> int:
        """Return the schema version of the store; older releases refuse the versions of newer kinds."""
        if self.is_light:
            return LIGHT_SCHEMA_VERSION
        return SCHEMA_VERSION if self.window is None else WINDOW_SCHEMA_VERSION

    def __str__(self) -> str:
        """Return the kind in words, as `a light folder of 64 blocks`."""
        name = "a light folder" if self.is_light else "a full folder"
        if self.window is None:
            return name
        blocks = f"{self.window} blocks"
        if self.window_seconds is None:
            return f"{name} of {blocks}"
        least = "" if self.window == 1 else f", and {blocks} or more"
        return f"{name} of {self.window_seconds} seconds{least}"


FULL: Final = FolderKind()
