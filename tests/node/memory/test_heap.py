"""A node has jemalloc's heap in the whole process, and programs that it starts have their own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.node.workers.processes import workers_of
from tests.node_process import started
from wsnode.node.memory import heap

MOST_LEFT = 16 << 20
GNU_ONLY = pytest.mark.skipif(not heap._environment(), reason="the C library is not the GNU one")

BEGIN = """
import ctypes, os, subprocess, time
from pathlib import Path
from wsnode.cli.serving import begin_with_its_heap
begin_with_its_heap()

def own_bytes():
    _size, resident, shared, *_ = map(int, Path("/proc/self/statm").read_text().split())
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")

def address_of(library):
    return ctypes.cast(ctypes.CDLL(library).malloc, ctypes.c_void_p).value
"""
# Whether the process's malloc is that of the engine's library, and what Python has its objects in.
WHOSE = """
from wsnode.node.memory.heap import LIBRARY
print(address_of(None) == address_of(str(LIBRARY)), os.environ.get("PYTHONMALLOC"))
"""
# It never ends unless most of what a hundred megabytes of small objects took is returned; some stay.
LEFT = f"""
before = own_bytes()
kept = [bytes(200) for _ in range(400_000)]
assert own_bytes() > before + (80 << 20)
kept = kept[::1000]
while own_bytes() > before + {MOST_LEFT}:
    time.sleep(0.01)
print("returned")
"""
OTHERS = """
print(os.environ.get("LD_PRELOAD"), subprocess.run(["/bin/echo", "began"], capture_output=True).stdout)
"""


def printed(code: str, command: str = "serve", environment: Mapping[str, str] | None = None) -> str:
    """Return what `code` prints in a program that begins as `wsnode COMMAND` does."""
    line = [sys.executable, "-c", BEGIN + code, command]
    clean = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **(environment or {})}
    ran = subprocess.run(line, capture_output=True, text=True, check=True, env=clean, timeout=120)
    return ran.stdout.strip()


@GNU_ONLY
@pytest.mark.parametrize("command", ["demo", "dev", "follow", "replica", "serve"])
def test_a_command_that_runs_a_node_has_the_heap(command: str) -> None:
    assert printed(WHOSE, command) == "True malloc"


@GNU_ONLY
def test_few_objects_that_stay_do_not_keep_the_memory_of_others() -> None:
    assert printed(LEFT) == "returned"


@GNU_ONLY
@pytest.mark.parametrize(
    ("command", "environment", "python"),
    [
        ("serve", {"PYTHONMALLOC": "pymalloc"}, "pymalloc"),
        ("serve", {"LD_PRELOAD": "libm.so.6"}, "None"),
        ("verify", {}, "None"),
    ],
    ids=["another allocator", "another library", "no node"],
)
def test_what_the_environment_says_counts_and_other_commands_are_left_alone(
    command: str, environment: Mapping[str, str], python: str
) -> None:
    assert printed(WHOSE, command, environment) == f"False {python}"


@GNU_ONLY
def test_programs_that_a_node_starts_begin_without_its_library() -> None:
    assert printed(OTHERS) == "None b'began\\n'"


@GNU_ONLY
@pytest.mark.parametrize("name", ["a b", "a:b"])
def test_a_library_that_cannot_be_named_in_a_list_is_not_used(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / name
    library.touch()
    monkeypatch.setattr(heap, "LIBRARY", library)
    assert heap._environment() == {}


def test_workers_begin_with_the_nodes_environment_also_once_the_library_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heap, "LIBRARY", tmp_path / "gone.so")
    monkeypatch.setenv("LD_PRELOAD", str(heap.LIBRARY))
    heap.has_it.cache_clear()
    try:
        assert heap.environment_of_workers() == dict(os.environ)
    finally:
        heap.has_it.cache_clear()


@GNU_ONLY
@pytest.mark.slow
def test_workers_have_the_heap_of_the_node(imported: Path) -> None:
    with started("serve", "--data", str(imported), "--listen", "0", "--open", "--workers", "2") as node:
        processes = [node.process.pid, *workers_of(node)]
        environments = [Path(f"/proc/{process}/environ").read_bytes().split(b"\0") for process in processes]
    assert len(processes) == 3
    assert all(b"LD_PRELOAD=" + os.fsencode(heap.LIBRARY) in each for each in environments)
