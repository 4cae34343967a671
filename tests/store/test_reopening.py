"""A file whose meta page could not be written is opened again within the process, and its snapshots go on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.store.failing_writes import ORDER, build_library, needs_compiler

pytestmark = [pytest.mark.slow, needs_compiler]

BEGIN = """
import sys
from pathlib import Path
from tests.store.failing_writes import order_failure
from wsnode.store.environment import Environment
from wsnode.store.environment import SnapshotLostError, StoreError, StoreFailedError
from wsnode.store.table import Table

ENTRIES = Table("entries")
folder, order = Path(sys.argv[1]), Path(sys.argv[2])
store = Environment(folder, [ENTRIES], writer=True)

def write(value):
    store.write(lambda change: change.put(ENTRIES, b"key", value))

def fail_to_write(value):
    order_failure(order, "/data.mdb")
    try:
        write(value)
    except StoreError:
        assert not order.exists()
        return
    raise AssertionError("the write has not failed")
"""
SNAPSHOTS = """
write(b"1")
older = store.read()
write(b"2")
last = store.read()
fail_to_write(b"3")
assert last.get(ENTRIES, b"key") == b"2"
assert store.read().get(ENTRIES, b"key") == b"2"
assert last.version == store.read().version
try:
    older.get(ENTRIES, b"key")
except SnapshotLostError:
    pass
else:
    raise AssertionError("a snapshot of another version went on")
write(b"4")
assert (last.get(ENTRIES, b"key"), store.read().get(ENTRIES, b"key")) == (b"2", b"4")
store.require_usable()
"""
VIEWED = """
write(b"1" * 5000)
snapshot = store.read()
view = snapshot.view(ENTRIES, b"key")
fail_to_write(b"2")
store.require_usable()
try:
    store.read()
except StoreFailedError:
    pass
else:
    raise AssertionError("the map was given up while a value in it was viewed")
assert bytes(view) == b"1" * 5000
del view
assert store.read().get(ENTRIES, b"key") == b"1" * 5000
write(b"3")
assert store.read().get(ENTRIES, b"key") == b"3"
"""
REFUSED = """
write(b"1")
lock = folder / "lock.mdb"
lock.unlink()
lock.mkdir()
fail_to_write(b"2")
for work in (store.require_usable, lambda: write(b"3")):
    try:
        work()
    except StoreFailedError:
        pass
    else:
        raise AssertionError("the file cannot be opened")
lock.rmdir()
store.require_usable()
write(b"4")
assert store.read().get(ENTRIES, b"key") == b"4"
"""
PROVED = """
import sys
from pathlib import Path
from tests.ethereum.live.growing import emitting_genesis
from tests.store.failing_writes import order_failure
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.state import StateError
from wsnode.ethereum.storage.folder_kind import FolderKind

folder, order = Path(sys.argv[1]), Path(sys.argv[2])
state = Chain.open(folder, emitting_genesis(), writer=True, kind=FolderKind(10, is_light=True)).state
block, parent = bytes(32), b"1" * 32
order_failure(order, "/proved/data.mdb")
try:
    state.keep_hashes_of(block, [(1, parent)])
except StateError:
    assert not order.exists()
else:
    raise AssertionError("the write has not failed")
state.keep_hashes_of(block, [(1, parent)])
"""


NEW = """
import sys
from pathlib import Path
from tests.store.failing_writes import order_failure
from wsnode.store.environment import Environment
from wsnode.store.environment import StoreError
from wsnode.store.table import Table

folder, order, tables = Path(sys.argv[1]), Path(sys.argv[2]), [Table("entries")]
for fault in ("EIO", "ENOSPC", "short"):
    order_failure(order, "/data.mdb", fault)
    try:
        Environment(folder, tables, writer=True)
    except StoreError:
        assert not order.exists()
    else:
        raise AssertionError("the write has not failed")
store = Environment(folder, tables, writer=True)
store.write(lambda change: change.put(tables[0], b"key", b"value"))
assert store.read().get(tables[0], b"key") == b"value"
"""


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(BEGIN + SNAPSHOTS, id="snapshots-of-the-last-version-go-on"),
        pytest.param(BEGIN + VIEWED, id="a-view-keeps-its-map"),
        pytest.param(BEGIN + REFUSED, id="a-file-that-cannot-be-opened-has-failed-until-it-can"),
        pytest.param(PROVED, id="proved-values-are-kept-again"),
        pytest.param(NEW, id="a-file-that-could-not-be-begun-is-begun-again"),
    ],
)
def test_a_file_is_opened_again_after_a_failed_write(tmp_path: Path, script: str) -> None:
    library, order = build_library(tmp_path), tmp_path / "order"
    environment = {**os.environ, "LD_PRELOAD": str(library), ORDER: str(order)}
    command = [sys.executable, "-c", script, str(tmp_path / "store"), str(order)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
