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


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library is not the GNU one")
def test_one_large_reply_after_the_other_has_the_same_pages() -> None:
    # Anything set from outside counts more.
    ran = subprocess.run([sys.executable, "-c", REPLIES], capture_output=True, text=True, check=True, env={})
    assert int(ran.stdout) < 1000, "unless they are kept, it is 30,000"
