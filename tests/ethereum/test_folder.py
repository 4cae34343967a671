"""The folder of a chain on a disk without room: files that may not grow stand for it."""

from pathlib import Path

import pytest

from tests.file_limits import files_of_at_most
from wsnode.ethereum.storage.folder import ChainFolder


def test_a_genesis_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    folder = ChainFolder(tmp_path)
    with files_of_at_most(4096), pytest.raises(OSError, match="File too large: ") as raised:
        folder.keep_genesis(b" " * 5000, durable=True)
    assert raised.value.filename == str(tmp_path / "genesis.draft")
    assert not folder.genesis.exists()


def test_a_lock_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    folder = ChainFolder(tmp_path)
    with files_of_at_most(0), pytest.raises(OSError, match="File too large: ") as raised:
        folder.lock()
    assert raised.value.filename == str(tmp_path / "lock")
    folder.lock().close()
