import ctypes
import subprocess
import sys

import pytest

# What the kernel gives for replies of six million bytes that are made in pieces and put together.
REPLIES = """
from resource import RUSAGE_SELF, getrusage
from wsnode.server.upkeep.allocator import keep_freed_memory
keep_freed_memory()
def reply():
    b"".join([bytes(300_000) for _ in range(20)])
reply()
before = getrusage(RUSAGE_SELF).ru_minflt
for _ in range(10):
    reply()
print(getrusage(RUSAGE_SELF).ru_minflt - before)
"""

# A hundred megabytes that are free between things in use; it never ends unless they are given back.
LEFTOVERS = """
import trio
from wsnode.server.turns.memory import own_bytes
from wsnode.server.upkeep.allocator import GROWTH, give_back_freed_memory
async def main():
    async with trio.open_nursery() as nursery:
        before = own_bytes()
        nursery.start_soon(give_back_freed_memory, 0.001)
        await trio.testing.wait_all_tasks_blocked()
        kept = [bytes(3000) for _ in range(40_000)]
        # While all of it is in use there is nothing to give back.
        for _ in range(20):
            await trio.sleep(0.001)
        kept = kept[::1000]
        # A trim may begin while only half of it is free; there is none after that unless `GROWTH` is left.
        while own_bytes() > before + GROWTH * 5 // 4:
            await trio.sleep(0.001)
        print(len(kept))
        nursery.cancel_scope.cancel()
import trio.testing
trio.run(main)
"""
GNU_ONLY = pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library is not the GNU one"
)


@GNU_ONLY
def test_one_large_reply_after_the_other_has_the_same_pages() -> None:
    # Anything set from outside counts more.
    ran = subprocess.run([sys.executable, "-c", REPLIES], capture_output=True, text=True, check=True, env={})
    assert int(ran.stdout) < 1000, "unless they are kept, it is 30,000"


@GNU_ONLY
def test_what_is_free_between_things_in_use_is_given_back() -> None:
    command = [sys.executable, "-c", LEFTOVERS]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env={}, timeout=120)
    assert ran.stdout == "40\n"


# A heap that is full is looked at, and not trimmed, however large it is.
IN_USE = """
import trio
import wsnode.server.upkeep.allocator as allocator
trims = []
allocator._trim = lambda: trims.append
async def main():
    async with trio.open_nursery() as nursery:
        nursery.start_soon(allocator.give_back_freed_memory, 0.001)
        await trio.testing.wait_all_tasks_blocked()
        kept = [bytes(3000) for _ in range(2 * allocator.GROWTH // 3000)]
        await trio.sleep(0.1)
        print(len(trims))
        del kept[::2]
        while not trims:
            await trio.sleep(0.001)
        await trio.sleep(0.1)
        print(len(trims) <= 20)
        nursery.cancel_scope.cancel()
import trio.testing
trio.run(main)
"""


@GNU_ONLY
def test_a_heap_in_use_is_not_trimmed() -> None:
    # One that returns nothing is repeated less often.
    command = [sys.executable, "-c", IN_USE]
    ran = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"PYTHONMALLOC": "malloc"}, timeout=120
    )
    assert ran.stdout == "0\nTrue\n"


# The niceness of the thread that trims, where all threads of trio's cache have stepped back.
PRIORITY = """
import os, threading, trio
from wsnode.server.turns.workers import step_back
from wsnode.server.upkeep.allocator import _in_new_thread
found = []
def look():
    found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
async def main():
    await trio.to_thread.run_sync(step_back)
    look()
    await _in_new_thread(look)
trio.run(main)
print(found[0] == found[1])
"""


@GNU_ONLY
def test_the_thread_that_holds_the_heap_has_the_priority_of_the_loop() -> None:
    ran = subprocess.run([sys.executable, "-c", PRIORITY], capture_output=True, text=True, check=True)
    assert ran.stdout == "True\n"
