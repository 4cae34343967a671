"""Another process that reads a chain's folder, and what heads it has."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_READING = """
import sys
from pathlib import Path
from threading import Event, Thread
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.state import ReorganisedError
seen, over = set(), Event()
with Chain.open(Path(sys.argv[1]), writer=False) as chain:
    print("ready", flush=True)
    Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    while True:
        with chain.snapshot() as view:
            head, version = view.head, view.reader.version
        try:
            chain.state.account(bytes(20), (head.number, head.hash))
        except ReorganisedError:
            assert chain.version != version, "the head had no state"
        seen.add(head.hash.hex())
        if over.is_set():
            break
print(*seen)
"""


@contextmanager
def watched_heads(folder: Path) -> Iterator[set[bytes]]:
    """Yield a set that has, after the block, the hashes of the heads that another process has seen.

    That process reads head and state without a pause.
    """
    seen: set[bytes] = set()
    command = [sys.executable, "-c", _READING, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"
        yield seen
        seen.update(map(bytes.fromhex, reader.communicate()[0].split()))
    assert reader.returncode == 0
    assert seen
