"""Files and folders that only their owner may read, like those of the stores."""

import os
from pathlib import Path
from typing import Final

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700


def private(path: str, flags: int) -> int:
    """Open a file for `open(opener=private)` and return its descriptor; a new file is private (mode 600).

    A pipe in its place is an error, since opening one would wait for its reader.
    """
    return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, FILE_MODE)


def make_private_folder(folder: Path) -> None:
    """Create a folder (mode 700) and its parents; an existing folder keeps its mode."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=FOLDER_MODE, exist_ok=True)


def write_private(path: Path, content: bytes) -> None:
    """Write a private file in a private folder."""
    make_private_folder(path.parent)
    with open(path, "wb", opener=private) as file:
        file.write(content)
