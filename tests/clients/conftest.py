"""The nodes that the clients talk to, and the scripts that do it."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients.node_modules import FOLDER, require_modules, require_node
from tests.node_process import PATIENCE, Node, started

RunScript = Callable[..., None]


@pytest.fixture(scope="session")
def demo() -> Iterator[Node]:
    """Return a running `wsnode demo`."""
    with started("demo", "--listen", "127.0.0.1:0") as node:
        yield node


@pytest.fixture(scope="session")
def run_script(tmp_path_factory: pytest.TempPathFactory) -> RunScript:
    """Return a function that runs a script of this folder, all of whose tests must pass."""
    node, modules = require_node(), require_modules()
    # Modules are looked for above the file that imports them, and nowhere else.
    workplace = tmp_path_factory.mktemp("scripts")
    (workplace / "node_modules").symlink_to(modules.resolve(), target_is_directory=True)
    for path in [*FOLDER.glob("*.mjs"), FOLDER / "demo.json"]:
        shutil.copy(path, workplace)

    def run_script(script: str, *arguments: str) -> None:
        ended = _run([node, "--test-reporter=spec", script, *arguments], workplace)
        assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"

    return run_script


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    # A script waits in vain for PATIENCE, and says for what.
    seconds = 3 * PATIENCE
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False)
