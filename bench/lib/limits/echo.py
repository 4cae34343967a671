"""The least server for a load, in C: what no node can take less than."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from bench.lib.compiled import compiled
from bench.lib.nodes import Node
from bench.lib.started import StartError

LIMIT = Node("limit", "", None)
"""Stands for it in tables."""


@contextmanager
def echoing(size: int) -> Iterator[Node | None]:
    """Run a server whose replies have `size` bytes; None without a C compiler.

    Raises:
        StartError: It did not start.
    """
    program = compiled("echo")
    if program is None:
        yield None
        return
    process = subprocess.Popen([program, str(size)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None, "it is a pipe"
        if not (port := process.stdout.readline().strip()):
            raise StartError(f"{program.name} ended with {process.wait()}")
        yield LIMIT._replace(url=f"ws://127.0.0.1:{port}/", process=process.pid)
    finally:
        process.terminate()
        process.communicate()
