"""The folder of a chain, on a disk without room too: files that may not grow stand for that."""

import os
import sys
from contextlib import closing
from importlib.resources import files
from pathlib import Path

import pytest

from tests.file_limits import files_of_at_most
from tests.store.disk_space import disk_bytes
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.storage.folder import ChainFolder
from wsnode.store.environment import Environment, StoreError
from wsnode.store.table import Table

ENTRIES = Table("entries")


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


def with_free_pages(store: Path) -> int:
    """Make a store of which much is free; return how much it takes on the disk."""
    with closing(Environment(store, [ENTRIES], writer=True, durable=False)) as file:
        file.write(lambda writer: writer.put(ENTRIES, b"key", bytes(100_000)))
        file.write(lambda writer: writer.delete(ENTRIES, b"key"))
    return disk_bytes(store)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux makes holes in files")
def test_free_pages_of_the_store_are_given_back_unless_there_is_another_writer(tmp_path: Path) -> None:
    folder = ChainFolder(tmp_path)
    before = with_free_pages(folder.chain)
    with folder.lock():
        folder.release_free_pages()
    assert disk_bytes(folder.chain) == before
    folder.release_free_pages()
    assert disk_bytes(folder.chain) < before


@pytest.mark.parametrize("name", ["data.mdb", "lock.mdb"])
def test_a_pipe_in_the_stores_folder_is_named_and_not_waited_for(tmp_path: Path, name: str) -> None:
    genesis = (files("wsnode.demo") / "genesis.json").read_bytes()
    Chain.open(tmp_path, genesis, writer=True, durable=False).close()
    (tmp_path / "chain" / name).unlink()
    os.mkfifo(tmp_path / "chain" / name)
    with pytest.raises(StoreError, match=f"{tmp_path}/chain/{name}: "):
        Chain.open(tmp_path, genesis, writer=True, durable=False)
