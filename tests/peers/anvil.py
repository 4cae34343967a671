"""foundry's development node, in a process of its own."""

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.node_process import PATIENCE, post


def require(command: str) -> str:
    """Return the path of one of foundry's commands; the test is skipped where there is none."""
    found = shutil.which(command)
    if found is None:
        pytest.skip(f"no `{command}` on the path: `npm ci` in tests/peers, and node_modules/.bin on the path")
    return found


@contextmanager
def started_anvil(*arguments: str) -> Iterator[str]:
    """Start anvil on a free port, give its URL, and stop it in the end."""
    command = [require("anvil"), "--port", "0", *arguments]
    # On leaving, its output is closed and its end awaited, whatever has happened.
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        # A full pipe would stop it, so what it prints of each call is read.
        rest = threading.Thread(target=process.stdout.read)
        try:
            line = next((line for line in process.stdout if line.startswith("Listening on ")), "")
            assert line, "anvil ended before it was ready"
            rest.start()
            yield f"http://{line.split()[-1]}/"
        finally:
            process.terminate()
            process.wait(PATIENCE)
            if rest.ident is not None:
                rest.join()


def ask_url(url: str, method: str, *params: Any) -> Any:
    """Return the whole reply of the node at `url`."""
    return json.loads(post(url, json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})))
