"""prool starts `wsnode anvil` as `anvil`, unmodified."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.node_modules import require_node
from tests.node_process import PATIENCE, kept_address

FOLDER = Path(__file__).parent
VARIABLE = "WSNODE_PROOL"
"""Names a folder with `node_modules` that has prool."""
NODE = (22,)


def require_prool() -> Path:
    """Return the folder `node_modules` with prool; the test is skipped where there is none."""
    for place in (os.environ.get(VARIABLE), FOLDER):
        if place and (Path(place) / "node_modules" / "prool").is_dir():
            return Path(place) / "node_modules"
    pytest.skip(f"no prool: `npm ci` in tests/clients/prool, or in a folder that {VARIABLE} names")


@pytest.mark.slow
def test_prool_starts_the_node_as_anvil(tmp_path: Path) -> None:
    node, modules = require_node(NODE), require_prool()
    (tmp_path / "node_modules").symlink_to(modules.resolve(), target_is_directory=True)
    shutil.copy(FOLDER / "instances.mjs", tmp_path)
    # The script of docs/how-to/moving.md, with the program under test.
    script = tmp_path / "bin" / "anvil"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m wsnode anvil "$@"\n')
    script.chmod(0o755)
    path = f"{script.parent}{os.pathsep}{os.environ['PATH']}"
    with kept_address() as address:
        ended = subprocess.run(
            [node, "--test-reporter=spec", "--test", "instances.mjs"],
            cwd=tmp_path,
            env=os.environ | {"PATH": path, "PORT": address.rpartition(":")[2]},
            capture_output=True,
            text=True,
            timeout=3 * PATIENCE,
            check=False,
        )
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    assert "pass 4" in ended.stdout
