"""The kinds of folders: full or light, with all blocks or a window of them. A folder is of one for life."""

from typing import Final

import msgspec

from wsnode.ethereum.storage.tables import (
    LIGHT_SCHEMA_VERSION,
    SCHEMA_VERSION,
    WINDOW_SCHEMA_VERSION,
)


class Kind(msgspec.Struct, frozen=True):
    """How many blocks a folder keeps, None for all of them, and whether it executes none of them."""

    window: int | None = None
    is_light: bool = False

    @property
    def schema_version(self) -> int:
        """Return the version of the chain store; releases refuse those of kinds that they do not know."""
        if self.is_light:
            return LIGHT_SCHEMA_VERSION
        return SCHEMA_VERSION if self.window is None else WINDOW_SCHEMA_VERSION

    def __str__(self) -> str:
        """Return it in words."""
        name = "a light folder" if self.is_light else "a full folder"
        return name if self.window is None else f"{name} of {self.window} blocks"


FULL: Final = Kind()
