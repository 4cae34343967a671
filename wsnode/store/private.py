"""Files and folders that their owner alone may read, as the stores are: they hold the same."""

import os
from pathlib import Path
from typing import Final

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700


def private(path: str, flags: int) -> int:
    """Return the descriptor of a file that is private if it is made now; an `opener` of `open`.

    A pipe in its place is an error, since opening one would wait for its reader.
    """
    return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, FILE_MODE)


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those above it; one that is there keeps its mode."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=FOLDER_MODE, exist_ok=True)


def write_private(path: Path, content: bytes) -> None:
    """Write a private file in a private folder."""
    make_private_folder(path.parent)
    with open(path, "wb", opener=private) as file:
        file.write(content)
