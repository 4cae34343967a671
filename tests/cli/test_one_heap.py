"""Small objects of a node live in the heap of the C library, which returns each free page."""

import ctypes
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.node_process import started

MOST_LEFT = 16 << 20
ALLOCATOR = "PYTHONMALLOC"

# What is left of a hundred megabytes of small objects, of which one in a thousand stays.
SMALL = """
import ctypes
from wsnode.cli.serving import begin_with_one_heap
begin_with_one_heap()
from wsnode.server.turns.memory import own_bytes
before = own_bytes()
kept = [bytes(200) for _ in range(400_000)]
kept = kept[::1000]
ctypes.CDLL(None).malloc_trim(0)
print(own_bytes() - before)
"""
GNU_ONLY = pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library is not the GNU one"
)


def left(command: str, environment: Mapping[str, str]) -> int:
    """Return how many bytes are left where `command` is begun."""
    line = [sys.executable, "-c", SMALL, command]
    return int(subprocess.run(line, capture_output=True, text=True, check=True, env=environment).stdout)


@GNU_ONLY
def test_few_objects_that_stay_do_not_keep_the_memory_of_others() -> None:
    assert left("serve", {}) < MOST_LEFT


@GNU_ONLY
@pytest.mark.parametrize(
    ("command", "environment"), [("serve", {ALLOCATOR: "pymalloc"}), ("import", {})], ids=["told", "no node"]
)
def test_python_has_its_own_arenas_where_told_and_where_no_node_is_run(
    command: str, environment: Mapping[str, str]
) -> None:
    assert left(command, environment) > MOST_LEFT


@GNU_ONLY
def test_a_node_begins_so_in_the_process_that_was_started() -> None:
    with started("dev", "--listen", "0") as node:
        environment = Path(f"/proc/{node.process.pid}/environ").read_bytes().split(b"\0")
    assert f"{ALLOCATOR}=malloc".encode() in environment
    assert b"GLIBC_TUNABLES=glibc.malloc.tcache_count=32" in environment
